package look

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// Deletion sees whether the node's Machine is being deleted: whoever does that
// drains the node, ends its machine and deletes its Node, and an Off in between hits a
// machine that is being cleaned, or is another's already. It goes after Node. Once
// power was cut, or work released, nothing is looked at: by then it may be our own
// fence that has deleted the Machine, and it runs to its end (S25).
func Deletion(ctx context.Context, c kube.Recent, f *api.NodeFence, seen *fence.Seen) error {
	if f.Status.Begun() || !seen.Node.Exists || seen.Node.Deleting != "" {
		return nil
	}
	n, err := c.Node(ctx, f.Spec.NodeName)
	if err != nil || n == nil {
		return err
	}
	for _, ref := range kube.MachinesOf(n) {
		m, err := c.MachineOf(ctx, ref)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsInternalError(err):
			// No retry mends these, and an error would be seen in a log only.
			seen.Node.Deleting = fmt.Sprintf("nobody knows whether its Machine %s is being deleted: %v", ref.Name, err)
			return nil
		case err != nil:
			return err
		case goes(m, n.Name):
			seen.Node.Deleting = fmt.Sprintf("its Machine %s has been in deletion since %s: whoever deletes it ends the machine and frees its work; if that never ends, a person may confirm that the machine is off (spec.requests.confirmOff)",
				ref.Name, m.DeletionTimestamp.UTC().Format(time.RFC3339))
			return nil
		}
	}
	return nil
}

// goes: this Machine is being deleted, and is this node's. A node may write its own
// annotations, so that what they name counts only if that Machine names the node (S11,
// S18): otherwise a node would be spared by naming another's Machine.
func goes(m *kube.BoundMachine, node string) bool {
	return m != nil && m.DeletionTimestamp != nil && m.Status.NodeRef != nil && m.Status.NodeRef.Name == node
}
