package binding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/agentjobs"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent"
	"github.com/nodefence/nodefence/shared/device/call"
	"github.com/nodefence/nodefence/shared/device/job"
	"github.com/nodefence/nodefence/shared/device/set"
	"github.com/nodefence/nodefence/shared/kube"
)

// Resolver resolves and opens the devices of nodes.
type Resolver struct {
	Client *kube.Client
	// Drivers are usually those of DriversIn.
	Drivers map[string]device.Kind
	// Namespace holds the fence-config ConfigMaps.
	Namespace string
	// SecretsNamespace holds the devices' Secrets.
	SecretsNamespace string
	// JobsNamespace holds the Jobs of fence agents.
	JobsNamespace string
	// JobImages are the images that such Jobs may use.
	JobImages []string
	// AgentsDir has the ClusterLabs agents, for devices without a driver of ours.
	AgentsDir string
}

func (b Resolver) settings() config.Settings {
	s := config.Settings{Kinds: b.Drivers, Agents: agents, Aliases: aliases}
	if b.AgentsDir != "" {
		s.Find = func(name string) (device.Kind, error) { return agent.Any(name, b.AgentsDir) }
	}
	s.Job = func(name string) (device.Kind, error) { return b.inJobs(name, nil) }
	return s
}

// inJobs is the kind of an agent that runs in pods.
func (b Resolver) inJobs(name string, r job.Runner) (device.Kind, error) {
	inner, err := agent.Declared(name, b.AgentsDir)
	if err != nil {
		return device.Kind{}, err
	}
	return job.Kind(inner, b.JobImages, r), nil
}

// Bind finds the devices that fence a node, from its ConfigMaps and its enrolment. A fault
// in them is a config.Refused; any other error is a failure to read them.
func (b Resolver) Bind(ctx context.Context, n *corev1.Node) (*config.Bound, error) {
	stored, err := b.Client.ConfigMaps(ctx, b.Namespace)
	if err != nil {
		return nil, err
	}
	plan, cluster, err := b.plan(ctx, stored, n)
	if err != nil {
		return nil, err
	}
	bound := &config.Bound{Devices: plan.Devices(), Over: cluster.Over}
	return bound, b.tell(ctx, n, bound)
}

// tell marks the devices that have told the machine's identity before, so that a fence
// accepts no answer without an identity from them (S11: the device is the node's own).
func (b Resolver) tell(ctx context.Context, n *corev1.Node, bound *config.Bound) error {
	t, err := b.Client.Target(ctx, n.Name)
	if err != nil || t == nil || n.UID != "" && t.Status.NodeUID != n.UID {
		return err
	}
	told := func(d *api.Binding) bool {
		return slices.ContainsFunc(t.Status.Devices, func(k api.TargetDevice) bool {
			return k.Tells && k.Driver == d.Driver && k.Address == d.Address && k.Role == d.Role && k.Enrolled == d.Identity
		})
	}
	for i := range bound.Devices {
		bound.Devices[i].Tells = told(&bound.Devices[i])
	}
	return nil
}

// plan reads everything that the ConfigMaps say of a node, and of the cluster.
func (b Resolver) plan(ctx context.Context, stored []corev1.ConfigMap, n *corev1.Node) (plan config.Plan, cluster config.Cluster, err error) {
	node := config.Node{Name: n.Name}
	maps := make([]config.ConfigMap, 0, len(stored))
	var others []enrolled
	for i := range stored {
		switch e, ok := enrolment(&stored[i]); {
		case !ok:
			maps = append(maps, config.ConfigMap{Namespace: stored[i].Namespace, Name: stored[i].Name, ResourceVersion: stored[i].ResourceVersion, Data: stored[i].Data})
		case e.Name != n.Name:
			others = append(others, e)
		case e.uid == n.UID, n.UID == "" && e.worker:
			node = e.Node
		}
	}
	if n.UID == "" && node.Enrolment.Name == "" {
		return plan, cluster, &config.Refused{Err: fmt.Errorf("node %s is missing, and it was not enrolled as a worker while it was there: which machine it was is not known for certain", n.Name)}
	}
	node.Type = n.Labels["type"]
	plan, err = config.Resolve(maps, node, b.settings())
	if err == nil {
		err = config.Duplicates(maps, nodes(others), b.settings(), node, plan.Devices()...)
	}
	if err == nil {
		cluster, err = config.ClusterOf(maps)
	}
	if errors.Is(err, config.ErrNoBinding) {
		err = fmt.Errorf("%w; looked in namespace %s", err, b.Namespace)
	}
	if err != nil {
		return plan, cluster, &config.Refused{Err: err}
	}
	for _, d := range plan.Devices() {
		if err == nil {
			err = b.checkAlike(ctx, others, node, d)
		}
	}
	return plan, cluster, err
}

// Open reads the credentials of a binding and opens its driver. The credentials are kept
// nowhere (S29: no secret is shown).
func (b Resolver) Open(ctx context.Context, bound *api.Binding) (device.Driver, error) {
	return b.open(ctx, bound, nil)
}

// OpenFor is Open for a call that power or isolate makes.
func (b Resolver) OpenFor(ctx context.Context, bound *api.Binding, c call.Claim) (device.Driver, error) {
	return b.open(ctx, bound, &agentjobs.Runner{Client: b.Client, Namespace: b.JobsNamespace, Claim: c})
}

func (b Resolver) open(ctx context.Context, bound *api.Binding, r job.Runner) (device.Driver, error) {
	if bound.Driver == config.SetDriver {
		return b.openSet(ctx, bound, r)
	}
	kind, err := b.kind(bound, r)
	if err != nil {
		return nil, err
	}
	params, err := (&credentials{Resolver: b, kind: kind, read: map[string]*corev1.Secret{}}).params(ctx, bound)
	if err != nil {
		return nil, err
	}
	return kind.Open(params)
}

func (b Resolver) kind(bound *api.Binding, r job.Runner) (device.Kind, error) {
	find := b.settings().Find
	switch kind, ok := b.Drivers[bound.Driver]; {
	case ok:
		return kind, nil
	case bound.Driver == job.Name:
		return b.inJobs(bound.Params[job.AgentName], r)
	case find != nil && strings.HasPrefix(bound.Driver, "fence_"):
		return find(bound.Driver)
	}
	return device.Kind{}, fmt.Errorf("driver %q is not in this build", bound.Driver)
}

// openSet opens all devices of a set.
func (b Resolver) openSet(ctx context.Context, bound *api.Binding, r job.Runner) (device.Driver, error) {
	var members []set.Member
	for _, m := range bound.Members {
		d, err := b.open(ctx, m.Binding(), r)
		if err != nil {
			return nil, fmt.Errorf("device %s %s of the set: %w", m.Driver, m.Address, err)
		}
		members = append(members, set.Member{Name: m.Driver + " " + m.Address, Identity: m.Identity, Driver: d})
	}
	return set.New(members...)
}
