package loop

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/report"
)

// errorsKept is the least time between two writes of status.lastError: a write that is refused is
// tried again and again.
const errorsKept = 30 * time.Second

// noteFailure writes into the record what a look or an action ran into, so that people read there
// why the fence does not go on (S28). Nothing is decided by it. If the process dies before the
// write, the next failure is written.
func (inv *invocation) noteFailure(ctx context.Context, action string, err error) {
	f := inv.fence
	if f == nil || !inv.sure || inv.opens != nil || f.ResourceVersion == "" || errors.Is(err, inv.Conflict) || ctx.Err() != nil {
		return
	}
	now := inv.Now()
	was := f.Status.LastError
	if was != nil && now.Sub(was.At.Time).Abs() < errorsKept {
		return
	}
	at := metav1.NewMicroTime(now.UTC())
	e := &api.LastError{Action: action, Message: clip.Message(err.Error()), Since: at, At: at, Count: 1}
	if was != nil && was.Action == action {
		e.Since, e.Count = was.Since, was.Count+1
	}
	f = f.DeepCopy()
	f.Status.LastError = e
	if _, err := inv.Store.SaveFenceStatus(ctx, f); err != nil {
		inv.noteUnsaved(ctx, err)
	}
}

// noteUnsaved reports that the record can't be written.
func (inv *invocation) noteUnsaved(ctx context.Context, err error) {
	if f := inv.fence; !errors.Is(err, inv.Conflict) {
		inv.Reporter.Unsaved(ctx, report.Unsaved{Function: inv.Function, Cause: inv.cause, Node: f.Spec.NodeName, NodeUID: f.Status.Decision.NodeUID, Err: err})
	}
}

// withoutError returns the status without its lastError, where that is over: the look succeeded,
// the action did, the fence has gone on, or the action is not tried any more. An error that was
// written a moment ago stays if nothing else changes, so that one which comes and goes is not a
// write each time.
func (inv *invocation) withoutError(before, st api.NodeFenceStatus, act fence.Action, changes bool, now time.Time) api.NodeFenceStatus {
	e := st.LastError
	if e == nil {
		return st
	}
	over := e.Action == api.LookFailed || e.Action == string(inv.did) || st.Phase != before.Phase || act == fence.None
	if over && (changes || now.Sub(e.At.Time).Abs() >= errorsKept) {
		st.LastError = nil
	}
	return st
}
