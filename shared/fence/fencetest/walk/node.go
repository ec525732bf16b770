package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence whose Node object is deleted at its end.

// releasedBy is such a fence once its work is to be released.
func releasedBy(s State, kind api.ProofKind) State {
	at := observed.StampOf(fencetest.Start)
	off := api.Read{State: api.PoweredOff, At: observed.StampOf(fencetest.Start.Add(-facts.Settle))}
	last := api.Read{State: api.PoweredOff, At: at}
	s.sh.moved, s.sh.decided = fencetest.Start.Add(-time.Minute), &at
	s.sh.reads, s.sh.cut, s.sh.served, s.sh.off = []api.Read{off, last}, true, true, [2]bool{true}
	still := observed.StampOf(s.sh.moved)
	s.st = api.NodeFenceStatus{
		Phase: api.Releasing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, CutOrReleased: true, BootIDBefore: "a",
		Placed: api.Placed{Taint: true, Cordon: true}, Lease: api.LeaseRecord{Renewed: "r0", StillSince: &still},
		Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: &off.At}, Cuts: 1},
		Proof: &api.Proof{Type: kind, FenceUID: "fence-1", FenceNumber: 1, NodeUID: "uid-1", BootIDBefore: "a", At: at},
	}
	return s
}

// pastGone: from here it goes on like any other fence.
func (s *State) pastGone() bool {
	return s.goes() && s.st.Phase != api.Releasing && s.st.Phase != api.Fencing && s.st.Phase != api.Fenced
}

// goes: its Node object is deleted at the end.
func (s *State) goes() bool { return s.spec.Decision.Settings.Release.DeleteNode }

func (s *State) goneKey(age func(*api.Time, ...time.Duration) string) []any {
	if !s.goes() {
		return nil
	}
	return []any{"goes", age(s.st.Release.DeleteNodeUntil, 0)}
}

// goneLooks vary what only such a fence looks at.
func goneLooks(s *State, with func(func(*observed.Look))) {
	if s.goes() && (s.st.Phase == api.Releasing || s.st.Phase == api.Fenced) {
		with(func(y *observed.Look) { y.Node.Terminating = true })
	}
}

func checkGone(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if a.Outcome == api.NodeDeleted && s.st.Outcome == "" {
		say(!seen.Node.Exists, "a Node counts as deleted once it is gone")
	}
	if act != fence.DeleteNode {
		return
	}
	p, until := a.Proof, a.Release.NotAfter
	say(s.goes() && f.Status.Decision.Settings.Action == api.ActionOff, "the Node of a machine that comes back is left")
	say(p != nil, "S1: no Node is deleted without a proof")
	if p == nil {
		return
	}
	if p.Type.Ages() {
		n := len(sh.reads)
		say(n > 0 && sh.reads[n-1].State == api.PoweredOff && now.Sub(sh.reads[n-1].At.Time) <= promisedProofOf(&s.spec.Decision), "S3: a Node is deleted on a fresh proof")
		say(n == 0 || !seen.Lease.Exists || !sh.moved.After(sh.reads[n-1].At.Time), "S3: no Node is deleted whose Lease moves")
	}
	say(p.BootIDBefore == "" || seen.Node.BootID == p.BootIDBefore, "S4: no Node is deleted after a reboot")
	say(seen.Left != nil && len(seen.Left.Delete)+seen.Left.Attachments == 0, "S24: nothing is left on a Node that is deleted")
	say(!s.st.Placed.OutOfService || seen.Cleared && !seen.Node.OutOfService, "S23: the out-of-service taint is off before its Node goes")
	say(until != nil && !until.After(now.Add(promisedAct)) && (!p.Type.Ages() || !until.After(p.At.Add(promisedProofOf(&s.spec.Decision)))), "S3: no deletion of a Node is begun on an old proof")
	say(a.Release.DeleteNodeUntil != nil && now.Before(a.Release.DeleteNodeUntil.Time), "S8: until when a Node is tried to be deleted is saved before it is")
	say(f.Status.Decision.NodeUID == seen.Node.UID, "S6: exactly this Node is deleted")
}

// checkBack: a node is back by a life of its own, which is a Lease that moved after its machine was
// off, or after the fence began to wait for it.
func checkBack(s *State, sh *shadow, seen *observed.Look, a *api.NodeFenceStatus, say func(bool, string)) {
	if s.st.Phase != api.Recovering || s.st.Outcome != "" || a.Outcome != api.Recovered {
		return
	}
	since := s.st.PhaseSince.Time
	if p := s.st.Proof; p != nil && (p.Type == api.ProofSeenOff || p.Type == api.ProofConfirmed) {
		since = p.At.Time
	}
	say(seen.Node.Ready() && seen.Lease.Exists && sh.moved.After(since), "S3: a node is back only by a Lease that moved since its machine was off")
}
