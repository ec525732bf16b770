package kube

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// The annotations by which Machine controllers say on a Node which Machine it is of.
const (
	openshiftMachine = "machine.openshift.io/machine"
	capiMachine      = "cluster.x-k8s.io/machine"
	capiNamespace    = "cluster.x-k8s.io/cluster-namespace"
)

// nodesMachine is a Machine as far as it says whose it is, and whether it goes.
type nodesMachine struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		NodeRef *struct {
			Name string `json:"name"`
		} `json:"nodeRef,omitempty"`
	} `json:"status"`
}

// machineRef is what an annotation of a Node names.
type machineRef struct {
	name string
	// paths are where it may stand: of one kind the first version that answers counts.
	paths []string
}

// LookDeletion sees whether the node's Machine is being deleted: whoever does that
// drains the node, ends its machine and deletes its Node, and an Off in between hits a
// machine that is being cleaned, or is another's already. It goes after LookNode. Once
// power was cut, or work released, nothing is looked at: by then it may be our own
// fence that has deleted the Machine, and it runs to its end (S25).
func (c *Client) LookDeletion(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error {
	begun := f.Status.Begun()
	if begun || !seen.Node.Exists || seen.Node.Deleting != "" {
		return nil
	}
	n, err := c.Node(ctx, f.Spec.NodeName)
	if err != nil || n == nil {
		return err
	}
	for _, ref := range machinesOf(n) {
		m, err := c.nodesMachine(ctx, ref)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsInternalError(err):
			// No retry mends these, and an error would be seen in a log only.
			seen.Node.Deleting = fmt.Sprintf("nobody knows whether its Machine %s is being deleted: %v", ref.name, err)
			return nil
		case err != nil:
			return err
		case m.goes(n.Name):
			seen.Node.Deleting = fmt.Sprintf("its Machine %s has been in deletion since %s: whoever deletes it ends the machine and frees its work; if that never ends, a person may confirm that the machine is off (spec.requests.confirmOff)",
				ref.name, m.DeletionTimestamp.UTC().Format(time.RFC3339))
			return nil
		}
	}
	return nil
}

// goes: this Machine is being deleted, and is this node's. A node may write its own
// annotations, so that what they name counts only if that Machine names the node (S11,
// S18): otherwise a node would be spared by naming another's Machine.
func (m *nodesMachine) goes(node string) bool {
	return m != nil && m.DeletionTimestamp != nil && m.Status.NodeRef != nil && m.Status.NodeRef.Name == node
}

// machinesOf are the Machines that a Node says it is of.
func machinesOf(n *corev1.Node) (all []machineRef) {
	namespace, name, _ := strings.Cut(n.Annotations[openshiftMachine], "/")
	for _, at := range []struct{ group, namespace, name string }{
		{"machine.openshift.io/", namespace, name},
		{"cluster.x-k8s.io/", n.Annotations[capiNamespace], n.Annotations[capiMachine]},
	} {
		// What is no name would be a path of its own.
		if len(validation.IsDNS1123Label(at.namespace)) > 0 || len(validation.IsDNS1123Subdomain(at.name)) > 0 {
			continue
		}
		ref := machineRef{name: at.namespace + "/" + at.name}
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

// nodesMachine reads a Machine; nil where there is none, or no such kind. A version
// that can't be read does not count where another one can: what converts them may run
// on the very node that has died.
func (c *Client) nodesMachine(ctx context.Context, ref machineRef) (*nodesMachine, error) {
	var failed error
	for _, path := range ref.paths {
		m, err := get[nodesMachine](ctx, c, path)
		if m != nil {
			return m, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return nil, failed
}
