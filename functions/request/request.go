package request

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// Name is the function's name.
const Name = "request"

// Objects is the part of the API server's client that the function needs.
type Objects interface {
	FenceRequest(ctx context.Context, namespace, name string) (*api.FenceRequest, error)
	HoldFenceRequest(ctx context.Context, r *api.FenceRequest, hold bool) (*api.FenceRequest, error)
	SaveFenceRequestStatus(ctx context.Context, r *api.FenceRequest) (*api.FenceRequest, error)
	Fence(ctx context.Context, node string) (*api.NodeFence, error)
	MarkWithdrawn(ctx context.Context, f *api.NodeFence, request types.UID) (*api.NodeFence, error)
	MarkAskerWithdrawn(ctx context.Context, f *api.NodeFence, request types.UID) (*api.NodeFence, error)
	AbortWithdrawn(ctx context.Context, f *api.NodeFence, request types.UID, abort api.AbortRequest) (*api.NodeFence, error)
	WhoAmI(ctx context.Context) (string, error)
	machineObjects
}

// Requester is the function. It keeps nothing between two events.
type Requester struct {
	Objects Objects
	// Namespaces are those whose FenceRequests count.
	Namespaces ask.Namespaces
	// Now is the API server's time.
	Now      func() time.Time
	Log      *slog.Logger
	Reporter Reporter
}

// Reporter is told what became of a FenceRequest.
type Reporter interface {
	Remediated(ctx context.Context, r report.Remediation)
}

// longestReason is what an abort takes of a reason.
const longestReason = 256

// Handle looks at the FenceRequest that an event names, and replies with an event that asks the
// gate, if it is to be asked.
func (q *Requester) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.WithFunction(ctx, Name)
	named, err := events.ReadFenceRequestChanged(e)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", run.ErrMalformed, err)
	}
	if !q.Namespaces.Has(named.Namespace) {
		q.ignored(e, "NamespaceDoesNotCount")
		return nil, nil
	}
	r, err := q.Objects.FenceRequest(ctx, named.Namespace, named.Name)
	if err != nil {
		return nil, err
	}
	if r == nil || string(r.UID) != named.UID {
		q.ignored(e, "NoSuchFenceRequest")
		return nil, nil
	}
	node, asks, err := q.work(ctx, r)
	if errors.Is(err, kube.ErrConflict) {
		return nil, fmt.Errorf("%w: %w", run.ErrAgain, err) // a withdrawal must not be lost to that race
	}
	if err != nil || !asks {
		return nil, err
	}
	reply := events.RequestByObject(node, ask.Source(r), named, r.CreationTimestamp.Time, q.Now().Truncate(facts.Resync))
	events.CausedBy(&reply, e)
	return &reply, nil
}

// work carries out what comes next for a FenceRequest, and tells of which node it is, and whether the
// gate is to be asked.
func (q *Requester) work(ctx context.Context, r *api.FenceRequest) (node string, asks bool, err error) {
	var uid types.UID
	if node, err = ask.Node(r); errors.Is(err, ask.ErrOfMachine) {
		node, uid, err = q.nodeOfMachine(ctx, r)
	}
	var none noNode
	switch {
	case errors.As(err, &none):
		return "", false, q.unknown(ctx, r, api.NoSuchNode, err)
	case errors.Is(err, errRead) && apierrors.IsForbidden(err):
		return "", false, q.notAllowed(ctx, r, err)
	case errors.Is(err, errRead):
		return "", false, err
	case err != nil:
		return "", false, q.unknown(ctx, r, api.NamesDiffer, err)
	}
	asks, err = q.carry(ctx, ask.Seen{Request: r, Node: node, NodeUID: uid, Now: q.Now()})
	return node, asks, err
}

// carry carries out what comes next for a FenceRequest, whose node is known.
func (q *Requester) carry(ctx context.Context, seen ask.Seen) (asks bool, err error) {
	r, node := seen.Request, seen.Node
	// The record is read after the object: see package ask.
	if seen.Fence, err = q.Objects.Fence(ctx, node); err != nil {
		return false, err
	}
	if seen.WithdrawnToo, err = q.withdrawn(ctx, ask.Beside(r, seen.Fence)); err != nil {
		return false, err
	}
	next := ask.Decide(seen)
	if next.MarkWithdrawn {
		if seen.Fence, err = q.Objects.MarkWithdrawn(ctx, seen.Fence, r.UID); err != nil {
			return false, err
		}
		next = ask.Decide(seen)
	}
	if next.MarkAsker {
		if seen.Fence, err = q.Objects.MarkAskerWithdrawn(ctx, seen.Fence, r.UID); err != nil {
			return false, err
		}
		next = ask.Decide(seen)
	}
	if next.Abort != "" {
		if seen.Fence, err = q.abort(ctx, seen.Fence, r.UID, next.Abort); err != nil {
			return false, err
		}
		next = ask.Decide(seen)
	}
	if ask.HandsBack(r, next.Status, seen.Fence) {
		// Before the last word: a process that dies in between does both again.
		if err := q.handBack(ctx, r, seen.Fence); err != nil {
			return false, err
		}
	}
	return next.Ask, q.write(ctx, r, next)
}

// withdrawn are the UIDs of those FenceRequests that are withdrawn, or gone. One in a namespace that
// does not count was asked for by an event of that source, and can't be read.
func (q *Requester) withdrawn(ctx context.Context, all []api.FenceRequest) (uids []string, err error) {
	for i := range all {
		if o := &all[i]; q.Namespaces.Has(o.Namespace) {
			is, err := q.Objects.FenceRequest(ctx, o.Namespace, o.Name)
			if err != nil {
				return nil, err
			}
			if is == nil || is.UID != o.UID || ask.Withdrawn(is) != "" {
				uids = append(uids, string(o.UID))
			}
		}
	}
	return uids, nil
}

// write writes what is to be written into the object. Our finalizer is on it before the gate is
// asked, and comes off last.
func (q *Requester) write(ctx context.Context, r *api.FenceRequest, next ask.Step) (err error) {
	if next.Hold {
		if r, err = q.Objects.HoldFenceRequest(ctx, r, true); err != nil {
			return err
		}
	}
	if next.Status != nil {
		if r, err = q.save(ctx, r, *next.Status); err != nil {
			return err
		}
	}
	if next.LetGo {
		_, err = q.Objects.HoldFenceRequest(ctx, r, false)
	}
	return err
}

// save writes a status, and then reports what it changes: who dies in between has told nothing, and
// nobody tells it later.
func (q *Requester) save(ctx context.Context, r *api.FenceRequest, st api.FenceRequestStatus) (*api.FenceRequest, error) {
	before := r.Status
	r.Status = st
	r, err := q.Objects.SaveFenceRequestStatus(ctx, r)
	if err == nil {
		q.Reporter.Remediated(ctx, report.Remediation{Function: Name, Before: before, Request: r})
	}
	return r, err
}

// abort asks for the end of the fence in this function's own name, as a person would (S20): the
// admission policy of infra/crd compares the name.
func (q *Requester) abort(ctx context.Context, f *api.NodeFence, request types.UID, why string) (*api.NodeFence, error) {
	me, err := q.Objects.WhoAmI(ctx)
	if err != nil {
		return nil, err
	}
	number := f.Status.FenceNumber
	q.Log.Info("aborting the fence of a withdrawn FenceRequest", "function", Name, "node", f.Spec.NodeName, "fence", string(f.UID), "number", number, "reason", why)
	return q.Objects.AbortWithdrawn(ctx, f, request, api.AbortRequest{FenceNumber: &number, By: clip.To(longestReason, me), At: metav1.NewTime(q.Now().UTC()), Reason: clip.To(longestReason, why)})
}

// unknown refuses an object from which no node follows. No fence was asked for it.
func (q *Requester) unknown(ctx context.Context, r *api.FenceRequest, reason api.Reason, why error) error {
	return q.tell(ctx, r, ask.Refused(r, reason, why.Error(), q.Now()))
}

// rightsOfMachines is what gives this function its rights on Machines.
const rightsOfMachines = "add infra/knative/components/machinehealthcheck, or infra/aws/cluster/machinehealthcheck where functions run on AWS"

// notAllowed says in an object that its Machine may not be read. Resync brings the object again, and so a
// right that is granted later counts. No fence was asked for it.
func (q *Requester) notAllowed(ctx context.Context, r *api.FenceRequest, why error) error {
	q.Log.Error("may not look at the Machine of a FenceRequest: "+rightsOfMachines, "function", Name, "request", r.Namespace+"/"+r.Name, "error", why.Error())
	return q.tell(ctx, r, ask.Waits(r, clip.Message("nodefence may not look at its Machine: "+rightsOfMachines+"; "+why.Error()), q.Now()))
}

// tell writes what becomes of an object for which no fence was asked. One that is deleted is let go.
func (q *Requester) tell(ctx context.Context, r *api.FenceRequest, st api.FenceRequestStatus) error {
	switch {
	case r.DeletionTimestamp != nil && ask.Held(r):
		_, err := q.Objects.HoldFenceRequest(ctx, r, false)
		return err
	case r.DeletionTimestamp != nil || ask.Ended(r) || equality.Semantic.DeepEqual(st, r.Status):
		return nil
	}
	_, err := q.save(ctx, r, st)
	return err
}

func (q *Requester) ignored(e event.Event, why string) {
	q.Log.Info("ignored", "function", Name, "node", e.Subject(), "event", e.ID(), "type", e.Type(), "reason", why)
}
