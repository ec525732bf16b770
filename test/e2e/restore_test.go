package e2e

import (
	"path/filepath"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// The API server's etcd is taken back to an older snapshot; machines and BMCs are not. After that
// the pods of before are bound to the nodes again, by the restore and not by a fence, so the
// writers' record means nothing here.

// TestARestoreHoldsWhatIsNew: a fence has begun and ended since the snapshot, and no record of it
// is left. A node that dies then is held, that is reported, and nothing continues until a person
// confirms in their own name (S16, S20, S28).
func TestARestoreHoldsWhatIsNew(t *testing.T) {
	w := newWorld(t, 4, quick)
	w.start(nil)
	first := w.database(1)
	must(t, w.Apply(w.ctx, confirmers))
	backup := w.snapshot()
	w.node(first, "crash")
	now := w.moved("db-0", first)
	w.phase(first, api.Finished)
	w.words(first, "off on")
	w.oneWriter()

	must(t, w.Lab.Restore(backup))
	second := w.besides(4, first, now)
	w.node(second, "crash")
	says := w.wentBack()
	w.unready(second)
	w.held(second, api.StateWentBack)
	w.event("NodeFence", second, api.StateWentBack, says)
	w.event("Node", second, api.StateWentBack, says)
	w.disallowed(api.StateWentBack, says)
	w.words(second, "")
	w.unmarked(second)
	if f, err := w.Fences.Fence(w.ctx, first); err != nil || f != nil {
		t.Errorf("a fence that nobody knows of: %+v, %v", f, err)
	}

	w.confirmRestore()
	w.phase(second, api.Finished)
	w.words(second, "off on")
	w.words(first, "off on")
	w.unmarked(second)
	must(t, w.Ready(w.ctx, first, corev1.ConditionTrue))
}

// TestARestoreSendsNoFurtherOff: the snapshot is from the middle of a fence that has ended
// since. The machine is on, and its record says that it is about to be off. It is not cut
// again until a person confirms what was restored (S16, S25).
func TestARestoreSendsNoFurtherOff(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.start(nil)
	victim := w.database(1)
	must(t, w.Apply(w.ctx, confirmers))
	must(t, w.Lab.Fault(victim, "slow=15s")) // during this time the snapshot is from the middle of the fence
	w.node(victim, "crash")
	w.until("the power-off to be accepted", func() (bool, error) {
		words, err := w.Lab.Words(victim)
		return words == "off", err
	})
	backup := w.snapshot()
	w.moved("db-0", victim)
	w.phase(victim, api.Finished)
	w.words(victim, "off on")
	w.oneWriter()

	// It dies again, and the pause, which is not in the snapshot, keeps that from being fenced
	// first. If it were healthy, it would need no Off and no confirmation.
	must(t, w.Apply(w.ctx, rig.Policy("default", quick+"pauseRequests: [me]\n")))
	w.node(victim, "crash")
	must(t, w.Lab.Restore(backup))
	w.wentBack()
	w.held(victim, api.StateWentBack)
	w.phase(victim, api.Pending) // it reads on: what may be sent to it now is for the gate to say
	w.words(victim, "off on")
	w.confirmRestore()
	w.phase(victim, api.Finished)
	w.words(victim, "off on off on")
	w.unmarked(victim)
}

// snapshot saves what etcd holds.
func (w *world) snapshot() string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "etcd.db")
	must(w.t, w.Lab.Snapshot(file))
	return file
}

// wentBack waits until the ledger says that the API server's state went back, and returns the
// message for the fences that wait.
func (w *world) wentBack() (says string) {
	w.t.Helper()
	w.until("the ledger to tell of the restore", func() (bool, error) {
		l, err := w.as("anna").Ledger(w.ctx) // a client that has not seen the state of before
		if err != nil || l.Status.Restored == nil {
			return false, nil
		}
		r := l.Status.Restored
		from, err1 := strconv.Atoi(r.From)
		to, err2 := strconv.Atoi(r.To)
		if err1 != nil || err2 != nil || to >= from {
			w.t.Fatalf("restored from %q to %q", r.From, r.To)
		}
		says = "the API server's state went back in time: the ledger's resourceVersion was " + r.From + ", and was " + r.To + " at " +
			r.SeenAt.UTC().Format("2006-01-02T15:04:05Z07:00") + "; a person must confirm (spec.restoreConfirmed of FenceLedger cluster)"
		return true, nil
	})
	return says
}

// confirmRestore is anna's confirmation, even if others write the ledger meanwhile.
func (w *world) confirmRestore() {
	w.t.Helper()
	anna := w.as("anna")
	w.until("the restore to be confirmed", func() (bool, error) {
		l, err := anna.Ledger(w.ctx)
		if err != nil || l.Status.Restored == nil {
			return false, nil
		}
		l.Spec.RestoreConfirmed = &api.RestoreConfirmed{By: "anna", SeenAt: l.Status.Restored.SeenAt}
		return w.setLedger("anna", l) == nil, nil
	})
}
