package ask

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Seen is what was read of one FenceRequest: first the object, then the record.
type Seen struct {
	Request *api.FenceRequest
	// Node is that of the request.
	Node string
	// NodeUID is that of the Node of the Machine that the request is about, if it was looked up just now.
	NodeUID types.UID
	// Fence is the record of that node; nil if there is none.
	Fence *api.NodeFence
	// WithdrawnToo are the UIDs of those of Beside that are withdrawn, or gone.
	WithdrawnToo []string
	// Now is the API server's time.
	Now time.Time
}

// Step is what comes next. Its parts are carried out in this order, and after MarkWithdrawn, MarkAsker
// and Abort the caller looks again.
type Step struct {
	// MarkWithdrawn is to mark the record, so that no gate opens or joins a fence by what it has
	// read before.
	MarkWithdrawn bool
	// MarkAsker is to mark the record of a fence that goes on without this request, so that nobody's node
	// is cut without a drain by the wish of a request that is withdrawn, and gets no further Off for it.
	MarkAsker bool
	// Abort is why the fence that the record has is to be aborted; empty if it is not.
	Abort string
	// Hold is to add our finalizer.
	Hold bool
	// Status is to be written; nil if the object has it.
	Status *api.FenceRequestStatus
	// LetGo is to remove our finalizer.
	LetGo bool
	// Ask is to ask the gate for the fence.
	Ask bool
}

// heldAtMost is how long a deleted FenceRequest is kept for the end of its fence.
const heldAtMost = 15 * time.Minute

// Decide says what comes next for a FenceRequest.
func Decide(s Seen) Step {
	r := s.Request
	a := answerOf(r, s.Fence)
	if Withdrawn(r) != "" {
		return s.withdraw(a)
	}
	step := Step{Status: s.status(a)}
	if !Ended(r) {
		step.Hold = !Held(r)
		step.Ask = !a.any()
	}
	return step
}

// Settled tells whether nothing is left to do for a FenceRequest for as long as the record of its node stays
// as it is here; nil if there is none. Whether others that ask for the fence are withdrawn is not known here:
// all of them count as withdrawn, so that a fence that may have to be aborted is not called settled.
func Settled(r *api.FenceRequest, f *api.NodeFence) bool {
	if Unfinished(r) {
		return false
	}
	s := Seen{Request: r, Fence: f}
	if f != nil {
		for _, a := range f.Status.Decision.AskedBy {
			s.WithdrawnToo = append(s.WithdrawnToo, a.ID)
		}
	}
	return Decide(s) == (Step{})
}

// withdraw stops what the request asks for, as long as nothing was begun for it.
func (s Seen) withdraw(a answer) Step {
	r := s.Request
	switch {
	case !a.any() && s.Fence != nil && !slices.Contains(s.Fence.Withdrawn(), string(r.UID)):
		return Step{MarkWithdrawn: true}
	case a.now != nil && s.stops(a.now):
		return Step{Abort: Withdrawn(r)}
	case a.now != nil && s.outlived(a.now):
		return Step{MarkAsker: true}
	case r.DeletionTimestamp != nil && s.letsGo(a):
		return Step{LetGo: Held(r)}
	}
	return Step{Status: s.status(a)}
}

// stops: the fence is open, goes on because of this request alone, and has cut or released
// nothing. It is ended by the brake that people have (spec.requests.abort). If it was also opened
// for a condition of its node that still holds, a new one opens for that.
func (s Seen) stops(st *api.NodeFenceStatus) bool {
	return s.Fence.Open() && !served(st) && s.onlyAsker(st) && s.Fence.Requests().Abort == nil && s.Fence.DeletionTimestamp == nil
}

// outlived: the open fence goes on, for others or because it was begun, and nothing of the record says that
// this request is withdrawn, by which it would still cut without a drain, or send a further Off (S25).
func (s Seen) outlived(st *api.NodeFenceStatus) bool {
	asks := slices.ContainsFunc(st.Decision.AskedBy, func(a api.AskedBy) bool {
		return a.ID == string(s.Request.UID) && a.Source == Source(s.Request)
	})
	return asks && s.Fence.Open() && s.Fence.Requests().Abort == nil && s.Fence.DeletionTimestamp == nil &&
		!slices.Contains(s.Fence.AskersWithdrawn(), string(s.Request.UID))
}

// letsGo: a deleted request is needed no more, so that our finalizer comes off, in bounded time
// (S27). Nothing of a fence depends on the object once no fence can begin by it, and once what had
// to be aborted is aborted; both come before this. Each case is safe for that reason:
//
//   - No fence answers it, and none will: the record is marked, or there is none.
//   - Its fence is over, or its record is gone.
//   - Its fence rests: the machine stays off, or the fence was given up. That ends with the node's
//     health, or by a person, whenever that is.
//   - Its fence was begun, or others ask for it too: it runs to its end by its own record (S25).
//     The object is kept for its end, to show it, but not for longer than heldAtMost. So a device
//     that is dead, or a Node that is gone, holds no object.
func (s Seen) letsGo(a answer) bool {
	st := a.now
	if st == nil || !s.Fence.Open() || st.Phase == api.Fenced || st.Phase == api.Failed {
		return true
	}
	return s.Now.Sub(s.Request.DeletionTimestamp.Time) >= heldAtMost
}

// status is the status to be written; nil if the object has it, or its last word is said.
func (s Seen) status(a answer) *api.FenceRequestStatus {
	r := s.Request
	if Ended(r) {
		return nil
	}
	st := r.Status.DeepCopy()
	st.NodeFence.Name, st.NodeFence.NodeUID = s.Node, cmp.Or(st.NodeFence.NodeUID, s.NodeUID)
	if a.any() && !a.gone {
		st.NodeFence.UID, st.NodeFence.FenceNumber = s.Fence.UID, a.number
	}
	write(r, st, s.said(a), s.Now)
	if equality.Semantic.DeepEqual(*st, r.Status) {
		return nil
	}
	return st
}
