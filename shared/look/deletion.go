package look

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// Deletion reads whether the node's Machine is being deleted. The deleting controller
// drains the node, ends its machine and deletes its Node. An Off in between would hit a
// machine that is being cleaned, or that already belongs to another node. Call it after
// Node. Once power was cut, or work released, it reads nothing: by then our own fence may
// have deleted the Machine, and the fence runs to its end (S25: what was begun runs to its
// end).
func Deletion(ctx context.Context, c kube.Reader, f *api.NodeFence, seen *observed.Look) error {
	err := MachineDeletion(ctx, c, f, seen)
	if unlearnt, ok := errors.AsType[*Unlearnt](err); ok {
		seen.Node.Deleting = unlearnt.Error()
		return nil
	}
	return err
}

// Unlearnt is why nobody knows whether a node's Machine is being deleted: there is no right to read it,
// nothing converts it, or another cluster is away, which may be for long. No retry changes the first
// two. An error would only show up in a log.
type Unlearnt struct {
	Machine string
	Err     error
}

func (u *Unlearnt) Error() string {
	return fmt.Sprintf("nobody knows whether its Machine %s is being deleted: %v", u.Machine, u.Err)
}

// Unwrap returns the error of the read.
func (u *Unlearnt) Unwrap() error { return u.Err }

// MachineDeletion is Deletion, and returns Unlearnt where nobody knows.
func MachineDeletion(ctx context.Context, c kube.Reader, f *api.NodeFence, seen *observed.Look) error {
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
		case apierrors.IsForbidden(err), apierrors.IsInternalError(err), errors.Is(err, kube.ErrElsewhere):
			return &Unlearnt{ref.Name, err}
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

// goes reports whether this Machine is being deleted and belongs to this node. A node may
// write its own annotations, so the Machine that they name counts only if that Machine
// names the node (S11: the device is the node's own; S18): otherwise a node could be spared
// by naming another node's Machine.
func goes(m *kube.BoundMachine, node string) bool {
	return m != nil && m.DeletionTimestamp != nil && m.Status.NodeRef != nil && m.Status.NodeRef.Name == node
}
