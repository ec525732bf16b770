package kube

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nodefence/nodefence/shared/policy"
)

// machineKinds are the kinds of Machines, by their groups; of one group the first version that is
// served counts.
var machineKinds = [][]string{
	{"/apis/machine.openshift.io/v1beta1/machines"},
	{"/apis/cluster.x-k8s.io/v1beta2/machines", "/apis/cluster.x-k8s.io/v1beta1/machines"},
}

type machineList struct {
	Items []policy.Machine `json:"items"`
}

// Machines reads all Machines of the kinds that this cluster has.
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

// machinesOfKind reads the Machines of one kind in the first version that is served; none if no
// version is.
func (c *Client) machinesOfKind(ctx context.Context, versions []string) (all []policy.Machine, path string, err error) {
	for _, path := range versions {
		l, err := list[machineList](ctx, c, path)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		for i := range l.Items {
			l.Items[i].TypeMeta = metav1.TypeMeta{APIVersion: strings.TrimSuffix(strings.TrimPrefix(path, "/apis/"), "/machines"), Kind: "Machine"}
		}
		return l.Items, path, nil
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
	return c.deleteAsSeen(ctx, group+"/namespaces/"+m.Namespace+"/machines/"+m.Name, m.UID, m.ResourceVersion)
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
	Status            struct {
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
// node that has died.
func (c *Client) MachineOf(ctx context.Context, ref MachineRef) (*BoundMachine, error) {
	var failed error
	for _, path := range ref.paths {
		m, err := get[BoundMachine](ctx, c, path)
		if m != nil {
			return m, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return nil, failed
}
