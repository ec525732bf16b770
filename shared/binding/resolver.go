package binding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent"
	"github.com/nodefence/nodefence/shared/device/job"
	"github.com/nodefence/nodefence/shared/device/set"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/jobs"
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
	// DeviceCall is the longest that one call to a device may take; the usual if zero.
	DeviceCall time.Duration
	// Adopts are the namespaces whose FenceAgentsRemediations and templates give nodes' devices; none
	// if they are not adopted.
	Adopts ask.Namespaces
	// Lists keeps the ConfigMaps between two invocations of this process; nil if each lists them.
	Lists *Lists
}

func (b Resolver) settings() config.Settings {
	s := config.Settings{Kinds: b.Drivers, Agents: agents, Aliases: aliases}
	if b.AgentsDir != "" {
		s.Find = func(name string) (device.Kind, error) { return agent.Any(name, b.AgentsDir) }
	}
	s.Job = func(name string) (device.Kind, error) { return b.inJobs(name, 0, nil) }
	return s
}

// inJobs is the kind of an agent that runs in pods. What was bound is waited for as long as its
// effect delay says. So its pods act no longer than that allows, though the process that bound it
// was set to shorter calls than this one (S8); with delay zero nothing is bound yet.
func (b Resolver) inJobs(name string, delay time.Duration, r job.Runner) (device.Kind, error) {
	inner, err := agent.Declared(name, b.AgentsDir)
	if err != nil {
		return device.Kind{}, err
	}
	limit := cmp.Or(b.DeviceCall, api.DeviceCall)
	if delay > 0 {
		limit = max(0, min(limit, delay-inner.EffectDelay-job.Late(0)))
	}
	return job.Kind(inner, b.JobImages, limit, r), nil
}

// resolution is what the ConfigMaps say of a node, and of the cluster, with what that was
// made of.
type resolution struct {
	plan    config.Plan
	cluster config.Cluster
	node    config.Node
	// from are the ConfigMaps as they were listed. configs are what it was resolved by: those of the list or,
	// where objects of another project are adopted, those of maps, which has the ConfigMaps that stand for such
	// objects besides.
	from    *snapshot
	configs *config.Configs
	maps    []config.ConfigMap
	// outside says that something besides these objects and the Node was asked.
	outside bool
	// asked: the result also rests on whether other Nodes exist, which no version shows.
	asked bool
	// adopted is the object of another project that gives the node's device; nil if none does.
	adopted *adopted
	// stands are such objects by the name of the ConfigMap that stands for each.
	stands map[string]*adopted
	// further are claims of nodes that have a ConfigMap of each name already.
	further []*adopted
}

// resolve reads everything that the ConfigMaps say of a node. A fault in them is a
// config.Refused; any other error is a failure to read them.
func (b Resolver) resolve(ctx context.Context, from *snapshot, n *corev1.Node) (r resolution, err error) {
	r = resolution{node: from.node(n), from: from}
	s := b.telling(&r.outside)
	r.configs = from.configs.With(s)
	if n.UID == "" && r.node.Enrolment.Name == "" {
		return r, &config.Refused{Err: fmt.Errorf("node %s is missing, and it was not enrolled as a worker while it was there: which machine it was is not known for certain", n.Name)}
	}
	if err := b.judge(ctx, &r, n); err != nil {
		return r, err
	}
	if err := b.adopt(ctx, &r, s); err != nil {
		return r, err
	}
	r.plan, err = r.configs.Resolve(r.node)
	if err == nil {
		err = b.specific(&r)
	}
	if err == nil {
		err = r.duplicates(s)
	}
	if err == nil {
		r.cluster, err = r.configs.Cluster()
	}
	if errors.Is(err, config.ErrNoBinding) {
		err = fmt.Errorf("%w; looked in namespace %s", err, b.Namespace)
	}
	if err != nil {
		return r, &config.Refused{Err: r.where(err)}
	}
	err = b.checkNamed(ctx, &r)
	for _, d := range r.plan.Devices() {
		if err == nil {
			err = b.checkAlike(ctx, r, d)
		}
	}
	r.adopted.name(&r.plan, s)
	return r, err
}

// typeLabel is the one label of a Node that chooses its configuration.
const typeLabel = "type"

// Open reads the credentials of a binding and opens its driver. The credentials are kept
// nowhere (S29: no secret is shown).
func (b Resolver) Open(ctx context.Context, bound *api.Binding) (device.Driver, error) {
	return b.open(ctx, bound, nil)
}

// OpenFor is Open for a call that power or isolate makes.
func (b Resolver) OpenFor(ctx context.Context, bound *api.Binding, c devicecall.Claim) (device.Driver, error) {
	return b.open(ctx, bound, &jobs.AgentRunner{Client: b.Client, Namespace: b.JobsNamespace, Claim: c})
}

func (b Resolver) open(ctx context.Context, bound *api.Binding, r job.Runner) (device.Driver, error) {
	if bound.Adopted != nil {
		return b.openAdopted(ctx, bound, r)
	}
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
		return b.inJobs(bound.Params[job.AgentName], bound.EffectDelay.Duration, r)
	case find != nil && strings.HasPrefix(bound.Driver, "fence_"):
		return find(bound.Driver)
	}
	return device.Kind{}, fmt.Errorf("driver %q is not in this build", bound.Driver)
}

// openSet opens all devices of a set.
func (b Resolver) openSet(ctx context.Context, bound *api.Binding, r job.Runner) (device.Driver, error) {
	var members []set.Member
	for _, m := range bound.Members {
		member := m.Binding()
		member.EffectDelay = bound.EffectDelay
		d, err := b.open(ctx, member, r)
		if err != nil {
			return nil, fmt.Errorf("device %s %s of the set: %w", m.Driver, m.Address, err)
		}
		members = append(members, set.Member{Name: m.Driver + " " + m.Address, Identity: m.Identity, Driver: d})
	}
	return set.New(members...)
}
