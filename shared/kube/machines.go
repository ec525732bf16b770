package kube

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nodefence/nodefence/shared/policy"
)

// healthCheckKinds are the kinds of MachineHealthChecks, as machineKinds are.
var healthCheckKinds = [][]string{
	{"/apis/machine.openshift.io/v1beta1/machinehealthchecks"},
	{"/apis/cluster.x-k8s.io/v1beta2/machinehealthchecks", "/apis/cluster.x-k8s.io/v1beta1/machinehealthchecks"},
}

// HealthChecks are the MachineHealthChecks of one kind, as the API server sent them.
type HealthChecks struct {
	// APIVersion is the version in which they were read; empty if none is served.
	APIVersion string
	Items      []json.RawMessage `json:"items"`
	// Err is why they can't be read; the other kind may be read.
	Err error `json:"-"`
}

// MachineHealthChecks reads all MachineHealthChecks of this cluster, by kind.
func (c *Client) MachineHealthChecks(ctx context.Context) (all []HealthChecks) {
	for _, versions := range healthCheckKinds {
		all = append(all, c.healthChecks(ctx, versions))
	}
	return all
}

func (c *Client) healthChecks(ctx context.Context, versions []string) HealthChecks {
	at := c.MachinesAt()
	for _, path := range at.served(versions) {
		l, err := list[HealthChecks](ctx, at.Client, at.within(path))
		if apierrors.IsNotFound(err) {
			continue
		}
		version := strings.TrimSuffix(strings.TrimPrefix(path, "/apis/"), "/machinehealthchecks")
		if err != nil {
			return HealthChecks{APIVersion: version, Err: err}
		}
		l.APIVersion = version
		l.Items = slices.DeleteFunc(l.Items, func(raw json.RawMessage) bool { return at.othersCheck(raw) })
		return *l
	}
	return HealthChecks{}
}

// SaveHealthCheckStatus writes these fields into the status of a MachineHealthCheck, by
// compare-and-swap.
func (c *Client) SaveHealthCheckStatus(ctx context.Context, apiVersion string, m metav1.ObjectMeta, fields map[string]any) error {
	return c.MachinesAt().patchOnly(ctx, mergePatch, "/apis/"+apiVersion+"/namespaces/"+m.Namespace+"/machinehealthchecks/"+m.Name+"/status", map[string]any{
		"metadata": map[string]any{"uid": m.UID, "resourceVersion": m.ResourceVersion}, "status": fields,
	})
}

type machineList struct {
	Items []policy.Machine `json:"items"`
}

// Machines reads all Machines of the kinds that there are.
func (c *Client) Machines(ctx context.Context) (all []policy.Machine, err error) {
	for _, versions := range machineKinds {
		some, _, err := c.machinesOfKind(ctx, versions)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// MachinesIn reads all Machines of one group; none if it is not installed.
func (c *Client) MachinesIn(ctx context.Context, group string) (all []policy.Machine, err error) {
	for _, versions := range machineKinds {
		if strings.HasPrefix(versions[0], "/apis/"+group+"/") {
			all, _, err = c.machinesOfKind(ctx, versions)
		}
	}
	return all, err
}

// MachineNamed reads a Machine of one of these kinds, in this version; nil where there is none, or no
// such kind.
func (c *Client) MachineNamed(ctx context.Context, apiVersion, namespace, name string) (*policy.Machine, error) {
	path := machinePath(apiVersion, namespace, name)
	if path == "" {
		return nil, nil
	}
	m, err := get[policy.Machine](ctx, c, path)
	if m != nil {
		m.TypeMeta = metav1.TypeMeta{APIVersion: apiVersion, Kind: "Machine"}
	}
	return m, err
}

// machinePath is the path of a Machine; empty if there is no such kind, or if a name could be another
// path.
func machinePath(apiVersion, namespace, name string) string {
	for _, versions := range machineKinds {
		known := slices.Contains(versions, "/apis/"+apiVersion+"/machines")
		if known && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0 {
			return "/apis/" + apiVersion + "/namespaces/" + namespace + "/machines/" + name
		}
	}
	return ""
}

// SaveMachineConditions writes the conditions of a Machine, by compare-and-swap.
func (c *Client) SaveMachineConditions(ctx context.Context, m *policy.Machine) error {
	return c.patchOnly(ctx, mergePatch, machinePath(m.APIVersion, m.Namespace, m.Name)+"/status", map[string]any{
		"metadata": map[string]any{"uid": m.UID, "resourceVersion": m.ResourceVersion}, "status": map[string]any{"conditions": m.Status.Conditions},
	})
}

// machinesOfKind reads the Machines of one kind in the first version that is served; none if no
// version is.
func (c *Client) machinesOfKind(ctx context.Context, versions []string) (all []policy.Machine, path string, err error) {
	at := c.MachinesAt()
	for _, path := range at.served(versions) {
		l, err := list[machineList](ctx, at.Client, at.within(path))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		for i := range l.Items {
			l.Items[i].TypeMeta = metav1.TypeMeta{APIVersion: strings.TrimSuffix(strings.TrimPrefix(path, "/apis/"), "/machines"), Kind: "Machine"}
		}
		return at.ofCluster(ctx, l.Items, strings.TrimSuffix(path, "machines")+"clusters"), path, nil
	}
	return nil, "", nil
}

// DeleteMachine deletes the Machine with this UID, if may allows it as the Machine is now. It
// does nothing about one that is gone or is already being deleted.
func (c *Client) DeleteMachine(ctx context.Context, uid types.UID, may func(*policy.Machine) error) error {
	for _, versions := range machineKinds {
		all, path, err := c.machinesOfKind(ctx, versions)
		if err != nil {
			return err
		}
		for i := range all {
			if m := &all[i]; m.UID == uid {
				return c.deleteMachine(ctx, strings.TrimSuffix(path, "/machines"), m, may)
			}
		}
	}
	return nil
}

func (c *Client) deleteMachine(ctx context.Context, group string, m *policy.Machine, may func(*policy.Machine) error) error {
	if m.DeletionTimestamp != nil {
		return nil
	}
	if err := may(m); err != nil {
		return err
	}
	return c.MachinesAt().deleteAsSeen(ctx, group+"/namespaces/"+m.Namespace+"/machines/"+m.Name, m.UID, m.ResourceVersion)
}

// The annotations by which Machine controllers say on a Node which Machine it is of.
const (
	openshiftMachine = "machine.openshift.io/machine"
	capiMachine      = "cluster.x-k8s.io/machine"
	capiNamespace    = "cluster.x-k8s.io/cluster-namespace"
)

// BoundMachine is the part of a Machine that says which node it has, and whether it is being
// deleted.
type BoundMachine struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ClusterName string `json:"clusterName,omitempty"`
	} `json:"spec"`
	Status struct {
		NodeRef *struct {
			Name string `json:"name"`
		} `json:"nodeRef,omitempty"`
	} `json:"status"`
}

// MachineRef is the Machine that an annotation of a Node names.
type MachineRef struct {
	Name string
	// paths are where it may be: of one kind the first version that answers counts.
	paths []string
}

// MachinesOf are the Machines that a Node names as its own.
func MachinesOf(n *corev1.Node) (all []MachineRef) {
	namespace, name, _ := strings.Cut(n.Annotations[openshiftMachine], "/")
	for _, at := range []struct{ group, namespace, name string }{
		{"machine.openshift.io/", namespace, name},
		{"cluster.x-k8s.io/", n.Annotations[capiNamespace], n.Annotations[capiMachine]},
	} {
		// A text that is no name could be another path.
		if len(validation.IsDNS1123Label(at.namespace)) > 0 || len(validation.IsDNS1123Subdomain(at.name)) > 0 {
			continue
		}
		ref := MachineRef{Name: at.namespace + "/" + at.name}
		for _, versions := range machineKinds {
			for _, path := range versions {
				if version, ours := strings.CutPrefix(path, "/apis/"+at.group); ours {
					ref.paths = append(ref.paths, "/apis/"+at.group+strings.TrimSuffix(version, "machines")+"namespaces/"+at.namespace+"/machines/"+at.name)
				}
			}
		}
		all = append(all, ref)
	}
	return all
}

// MachineOf reads a Machine; nil where there is none, or no such kind. A version that can't be
// read does not count if another one can be read: the webhook that converts them may run on the
// node that has died. ErrElsewhere: another cluster has the Machines, and does not answer.
func (c *Client) MachineOf(ctx context.Context, ref MachineRef) (*BoundMachine, error) {
	at := c.MachinesAt()
	var failed error
	for _, path := range at.served(ref.paths) {
		m, err := get[BoundMachine](ctx, at.Client, path)
		switch {
		case m != nil && (at.others(m.Spec.ClusterName) || !at.in(m.Namespace)):
			return nil, nil // a node may name any Machine
		case m != nil:
			return m, nil
		case failed == nil:
			failed = err
		}
	}
	return nil, at.failed(failed)
}
