package fence_test

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// The walk of a fence under action WaitForOff whose machine can be read.

func noneSpec() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Settings.Action = api.ActionWaitForOff
	return s
}

// isRead: its machine may be read, and never switched.
func (s *state) isRead() bool { return s.spec.Decision.Settings.Action == api.ActionWaitForOff }

func (s *state) readKey(age func(*api.Time, ...time.Duration) string) []any {
	if !s.isRead() {
		return nil
	}
	p, read := s.st.Power, false
	if r := p.LastRead; r != nil {
		read = r.State == api.PoweredOn
	}
	return []any{"read", s.st.Placed.Taint, age(p.NotBefore, 0), read}
}

// readLooks vary what only such a fence looks at.
func readLooks(s *state, with func(func(*fence.Seen))) {
	if s.isRead() && s.st.Phase == api.Fencing && s.st.Placed.Taint {
		with(func(y *fence.Seen) { y.Node.Taint = false })
	}
}

func checkReads(s *state, sh *shadow, f *api.NodeFence, seen *fence.Seen, a *api.NodeFenceStatus, act fence.Action, say func(bool, string)) {
	if !s.isRead() {
		return
	}
	say(act != fence.Off && act != fence.On, "S12: what nodefence is told to leave alone is neither switched off nor on")
	say(!a.Power.SwitchedByUs && a.Phase != api.PoweringOn, "S12: an off that was another's doing is never ours")
	if s.st.Phase != api.Isolating && a.Phase == api.Isolating && !seen.Node.Taint {
		off := len(sh.reads) > 0 && sh.reads[len(sh.reads)-1].State == api.PoweredOff
		say(off || f.Spec.Requests.ConfirmOff != nil, "S17: nothing is placed on a node whose machine is not seen off, where nobody confirms that it is")
	}
}

// brokenReads are those that lack a guard of action WaitForOff.
var brokenReads = map[string]decider{
	"switches a machine that it is told to leave alone": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		if f.Status.Phase == api.Fencing {
			f.Status.Decision.Settings.Action = api.ActionReboot
		}
	}),
	"switches on what it has only seen off": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			f.Status.Decision.Settings.Action, f.Status.Power.SwitchedByUs = api.ActionReboot, true
		}
	}),
	"marks a node before its machine is read": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if f.Status.Phase == api.Pending {
			s.Node.Taint = true
		}
	}),
	"releases on one read of off": before(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		if c := s.Call; f.Status.Phase == api.Fencing && c != nil && c.Power == "Off" && f.Status.Power.FirstOff == nil {
			f.Status.Power.FirstOff = &api.Read{State: api.PoweredOff, At: fence.StampOf(now.Add(-10 * time.Second))}
		}
	}),
}
