package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What the walk adds for a machine that we cut, and whose Node object is deleted, or
// made anew, before its work is gone.

// wentLooks are what may be bound to the name of such a Node, which x is a look at.
func wentLooks(s *State, now time.Time, x observed.Look) []observed.Look {
	if s.st.Phase != api.Releasing {
		return nil
	}
	pods, unseen := x, x
	pods.Left, unseen.Left = &observed.Left{Delete: []observed.Pod{{Name: "p"}}, Attachments: 1}, nil
	all := []observed.Look{pods, unseen}
	if s.st.Power.SwitchedByUs && x.Node.Exists {
		alive := usual(s, now, "True", true, "a")
		alive.Node.UID, alive.Left = x.Node.UID, pods.Left
		all = append(all, alive)
	}
	return all
}

// wentKey: whoever waits without a proof may have come from where an Off of ours can
// still take effect.
func (s *State) wentKey(age func(*api.Time, ...time.Duration) string) []any {
	if s.st.Phase != api.Releasing || s.st.Proof != nil {
		return nil
	}
	return []any{s.sh.on, age(s.st.Power.EffectUntil, 0), s.st.BootIDBefore == ""}
}

// checkWent holds what is promised of a machine that is to be switched on, whatever has
// become of its Node.
func checkWent(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, now time.Time, say func(bool, string)) {
	b, n := &s.st, seen.Node
	if mine := n.Exists && n.UID == f.Status.Decision.NodeUID; mine || b.Phase == a.Phase || a.Phase != api.PoweringOn || b.Phase == api.Recovering {
		return
	}
	alive := n.Exists && n.Ready() && seen.Lease.Exists && now.Sub(sh.moved) < 2*fencetest.Renewal
	late := b.Release.Deadline != nil && !now.Before(b.Release.Deadline.Time)
	gone := b.Phase == api.Releasing && seen.Left != nil && len(seen.Left.Delete)+seen.Left.Terminating+seen.Left.Attachments == 0
	say(gone || late || alive || b.Release.DoneAt != nil, "S4: no power-on before the work of a Node that is gone is gone too")
}
