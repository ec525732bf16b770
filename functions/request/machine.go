package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/mhc"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/policy"
)

// machineObjects is what is read and written of the Machine of a FenceRequest.
type machineObjects interface {
	MachineNamed(ctx context.Context, apiVersion, namespace, name string) (*policy.Machine, error)
	SaveMachineConditions(ctx context.Context, m *policy.Machine) error
	Node(ctx context.Context, name string) (*corev1.Node, error)
}

// noNode says why the Machine of a FenceRequest has no node that can be fenced.
type noNode string

func (n noNode) Error() string { return string(n) }

// errRead says that the Machine, or its Node, could not be read.
var errRead = errors.New("look at the Machine of a FenceRequest")

// nodeOfMachine is the node of the Machine that owns the object. What the object says of it is not
// believed: the Machine is read, has the owner's UID, and names a Node of this cluster that is its own.
func (q *Requester) nodeOfMachine(ctx context.Context, r *api.FenceRequest) (name string, uid types.UID, err error) {
	o := ask.OfMachine(r)
	m, err := q.Objects.MachineNamed(ctx, o.APIVersion, r.Namespace, o.Name)
	switch is := "Machine " + r.Namespace + "/" + o.Name; {
	case err != nil:
		return "", "", fmt.Errorf("%w: %w", errRead, err)
	case m == nil || m.UID != o.UID:
		return "", "", noNode(is + " is gone, or is another one by now")
	case m.Status.NodeRef == nil:
		return "", "", noNode(is + " has no node: there is nothing to fence, and its owner may delete it")
	}
	n, err := q.Objects.Node(ctx, m.Status.NodeRef.Name)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("%w: %w", errRead, err)
	case !m.Has(n):
		return "", "", noNode(fmt.Sprintf("node %.80s of Machine %s/%s is not in this cluster, or is another Machine's", m.Status.NodeRef.Name, r.Namespace, o.Name))
	}
	return n.Name, n.UID, nil
}

// handBackAtMost is how long after its fence the last word of a FenceRequest waits for the Machine to be
// handed back.
const handBackAtMost = 15 * time.Minute

// handBack has the Machine handed back, before the last word is said. A write that can't succeed, for want
// of the right or because the Machine does not take it, keeps no last word back, and neither does one that
// has failed for handBackAtMost: the fence has succeeded all the same, and the log says so.
func (q *Requester) handBack(ctx context.Context, r *api.FenceRequest, f *api.NodeFence) error {
	err := q.giveMachine(ctx, r)
	if err == nil {
		return nil
	}
	since := cmp.Or(f.Status.Release.DoneAt, f.Status.PhaseSince) // nothing may be to be released
	late := since == nil || q.Now().Sub(since.Time) >= handBackAtMost
	if !late && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return err
	}
	q.Log.Error("cannot hand a Machine back to its owner: "+rightsOfMachines+" if a right is missing, and delete the Machine if nobody replaces it; the fence is not affected", "function", Name, "machine", r.Namespace+"/"+ask.OfMachine(r).Name, "error", err.Error())
	return nil
}

// giveMachine asks the owner of the Machine to replace it, as Cluster API's MachineHealthCheck does.
func (q *Requester) giveMachine(ctx context.Context, r *api.FenceRequest) error {
	o := ask.OfMachine(r)
	m, err := q.Objects.MachineNamed(ctx, o.APIVersion, r.Namespace, o.Name)
	if err != nil || m == nil || m.UID != o.UID || m.DeletionTimestamp != nil {
		return err
	}
	changed := false
	m.Status.Conditions, changed = mhc.HandBack(m.APIVersion, m.Status.Conditions, "nodefence has fenced its node, and its machine stays off", q.Now())
	if !changed {
		return nil
	}
	if err = q.Objects.SaveMachineConditions(ctx, m); err == nil {
		q.Log.Info("handed a Machine back to its owner", "function", Name, "machine", r.Namespace+"/"+o.Name)
	}
	return err
}
