package loop

import (
	"context"
	"sync"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/report"
)

// Handoff has the actions that one invocation of this process has decided on and saved, and the next
// one carries out. Where all functions run in one process, an invocation that has made its device
// call saves the next call's claim together with what the device said, and a function that hands
// a fence on decides what the next one does first. The next invocation then acts at once: it need
// not look, decide and save before.
//
// An action is taken once, by an invocation of the function that owns the fence's phase. So a
// device still hears one call at a time (S7: at most one device call in flight per node), and
// each invocation makes one. If the process dies before the action is taken, its claim stands in
// the record, and is taken over like that of a call whose end nobody reported (S8).
//
// The zero value is empty. A nil one takes nothing: then each invocation looks first, as it must
// where the next one may run in another process.
type Handoff struct {
	mu      sync.Mutex
	actions map[string]*handed
}

// handed is one action, and what it was decided on.
type handed struct {
	fence *api.NodeFence
	// me is the invocation that decided on it, and holds the claim of the call.
	me     string
	action fence.Action
	seen   observed.Look
	at     time.Duration
}

// handedFor is for how long after it was decided on an action is carried out without another look.
// Where it has waited for longer, as where many machines die at once, the invocation that takes it
// says that it was not made, looks, and decides anew. So a brake that was pulled while an Off
// waited stops it (S25).
const handedFor = 250 * time.Millisecond

// forgottenAfter is when an action that nobody has taken is dropped. The claim of its call has run
// out by then.
const forgottenAfter = 10 * time.Minute

// put keeps an action. The caller must not use its record any more.
func (h *Handoff) put(a *handed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.actions == nil {
		h.actions = map[string]*handed{}
	}
	for node, old := range h.actions {
		if a.at-old.at > forgottenAfter {
			delete(h.actions, node)
		}
	}
	h.actions[a.fence.Spec.NodeName] = a
}

// take removes and returns the action on a node's fence, if it is for a function that owns these
// phases; nil if there is none.
func (h *Handoff) take(node string, owns func(api.Phase) bool) *handed {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.actions[node]
	if a == nil || !owns(a.fence.Status.Phase) {
		return nil
	}
	delete(h.actions, node)
	return a
}

// handsOver tells whether the action is for the next invocation, which may be of another
// function: the call of a device that this invocation has claimed, or the marks of isolation.
func (inv *invocation) handsOver(f *api.NodeFence, a fence.Action) bool {
	if inv.Handoff == nil || !inv.spoke && inv.owns(f.Status.Phase) {
		return false
	}
	c := f.Status.Claim
	return a == fence.Isolate || a.Device() && c != nil && c.Holder == inv.me
}

// carryOn carries out what the last invocation has handed over. Whether the record is still the
// newest shows when the end of the action is saved.
func (inv *invocation) carryOn(ctx context.Context, a *handed) (more bool, err error) {
	inv.me, inv.fence, inv.sure = a.me, a.fence, false
	if inv.Elapsed()-a.at > handedFor {
		return inv.tooLate(ctx, a)
	}
	inv.start()
	inv.seen = handedOn(a.seen)
	d := report.Decision{Function: inv.Function, Cause: inv.cause, Before: a.fence.Status, Fence: a.fence, Action: a.action}
	return inv.act(ctx, d, a.seen)
}

// tooLate looks and decides anew, as what the action was decided on is old. No call was made, and
// nobody else can make it: so its claim ends.
func (inv *invocation) tooLate(ctx context.Context, a *handed) (more bool, err error) {
	if a.action.Device() {
		inv.seen.call = &observed.CallResult{Call: api.Call(a.action), At: inv.Now(), NotMade: true}
	}
	inv.notBefore = inv.Elapsed()
	return inv.turn(ctx, a.fence.Spec.NodeName)
}
