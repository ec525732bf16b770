package twins

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// inDrain changes what is seen while the node is drained.
func inDrain(change func(f *api.NodeFence, s *observed.Look, now time.Time)) walk.Decider {
	return Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if f.Status.Phase == api.Draining {
			change(f, s, now)
		}
	})
}

// atGate changes what is seen at the gate.
func atGate(change func(f *api.NodeFence, s *observed.Look, now time.Time)) walk.Decider {
	return Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if f.CurrentPhase() == api.Pending {
			change(f, s, now)
		}
	})
}

// givenUp changes a fence at the gate whose drain was given up.
func givenUp(change func(f *api.NodeFence, now time.Time)) walk.Decider {
	return atGate(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if f.Status.Drain != nil && f.Status.Drain.Ended == api.DrainGivenUp {
			change(f, now)
		}
	})
}

// toCut changes a fence that has its slot, and whose power was not cut yet.
func toCut(change func(f *api.NodeFence, s *observed.Look, now time.Time)) walk.Decider {
	return Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if f.Status.Phase == api.Fencing && !f.Status.Begun() {
			change(f, s, now)
		}
	})
}

func undrains(f *api.NodeFence) { f.Status.Decision.Settings.Drain.Timeout.Duration = 0 }

// brokenDraining lack a guard of spec.drain.
var brokenDraining = map[string]walk.Decider{
	"drains before it has asked the limits": atGate(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.MayDrain, s.Verdict = true, nil }),
	"cuts a node that lives without a drain": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.Drain.Timeout.Duration = 0
	}),
	"drains twice": atGate(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Status.Drain = nil }),
	"keeps an old slot while it drains": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if st.Phase == api.Draining {
			st.GivenBack = nil
		}
	}),
	"holds a slot while it drains": after(func(st *api.NodeFenceStatus, _ fence.Action, now time.Time) {
		if st.Phase == api.Draining {
			at := observed.StampOf(now)
			st.DecidedAt = &at
		}
	}),
	"drains on while a brake is on": inDrain(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Brakes = observed.Brakes{Looked: true, Counted: true}
	}),
	"takes a short silence for a failure": inDrain(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		if !s.Node.Ready() {
			s.Lease.Exists = false
		}
	}),
	"asks pods of a node that does not live to leave": inDrain(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "True", Since: fencetest.Start}}
	}),
	"asks pods to leave before the node is isolated": inDrain(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.Taint = true }),
	"asks pods to leave for ever": inDrain(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		at := observed.StampOf(now)
		f.Status.Drain.CountedAt, f.Status.Drain.Spent.Duration = &at, 0
	}),
	"takes pods that nobody has looked at for gone": inDrain(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		if s.Draining == nil {
			s.Draining = &observed.Draining{}
		}
	}),
	"takes pods that are leaving for gone": inDrain(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		if s.Draining != nil {
			d := *s.Draining
			d.Leaving = nil
			s.Draining = &d
		}
	}),
	"cuts all the same what it has given up": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.Drain.OnTimeout = api.DrainThenFence
	}),
	"ends a fence whose drain was given up and whose condition holds": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if st.Phase == api.Recovering && st.Outcome == api.SentBack && st.Reason == api.DrainTimedOut {
			st.Outcome = api.DrainTimedOut
		}
	}),
	"drains anew for who asked before": givenUp(func(f *api.NodeFence, now time.Time) {
		asked := slices.Clone(f.Status.Decision.AskedBy)
		asked[0].User, asked[0].JoinedAt = "ann", observed.StampOf(now)
		f.Status.Decision.AskedBy = asked
	}),
	"drains anew for the time that it had": givenUp(func(f *api.NodeFence, _ time.Time) {
		f.Status.Drain.Spent.Duration = 0
	}),
	"sleeps while the node drains": after(func(st *api.NodeFenceStatus, _ fence.Action, now time.Time) {
		if st.Phase == api.Draining {
			at := observed.StampOf(now.Add(time.Minute))
			st.NextLook = &at
		}
	}),
	"asks pods to leave without a save": after(func(st *api.NodeFenceStatus, act fence.Action, _ time.Time) {
		if act == fence.Evict {
			st.Drain.AskedAt = nil
		}
	}),
	"takes a silence that is shorter than the policy's for a failure": inDrain(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		conditions := &f.Status.Decision.Settings.UnhealthyConditions
		*conditions = slices.Clone(*conditions)
		(*conditions)[0].Duration.Duration = 0
	}),
	"fences without a drain at the first silent look": atGate(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		at := observed.StampOf(now.Add(-time.Hour))
		f.Status.SilentSince = &at
	}),
	"counts the time in which nobody drained": inDrain(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if r := f.Status.Drain; r != nil && r.CountedAt != nil {
			at := observed.StampOf(now)
			r.Spent.Duration += now.Sub(r.CountedAt.Time)
			r.CountedAt = &at
		}
	}),
	"times out before it has asked any pod": inDrain(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Drain != nil {
			f.Status.Drain.Rounds = 1
		}
	}),
	"cuts on a yes of before the drain's end": atGate(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if r := f.Status.Drain; r != nil && r.EndedAt != nil && s.Reserved != nil && s.Reserved.Before(r.EndedAt.Time) {
			at := r.EndedAt.Time
			s.Reserved = &at
		}
	}),
	"cuts a node that lives for a word that was refused": toCut(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Spec.Requests.ConfirmOff != nil || f.Status.Answer(api.AskedConfirmOff) != nil {
			undrains(f)
		}
	}),
	"cuts a node that lives again as one that failed": toCut(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if r := f.Status.Drain; r != nil && r.Ended == api.DrainSilent {
			undrains(f)
		}
	}),
	"cuts what was given up and lives again": toCut(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Drain.GivenUp() {
			undrains(f)
		}
	}),
	"marks an empty node for its cut that somebody has unmarked": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Isolating {
			undrains(f)
		}
	}),
	"keeps its marks on a node whose drain was given up": atGate(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Drain.GivenUp() {
			s.Node.Taint, s.Node.CordonOurs = false, false
		}
	}),
	"keeps its cordon where somebody has taken the taint off": atGate(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Drain.GivenUp() && !s.Node.Taint {
			s.Node.CordonOurs = false
		}
	}),
	"cuts an empty node that somebody has unmarked":   toCut(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.Taint = true }),
	"overlooks a wish for no drain that is withdrawn": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Annotations = nil }),
	"writes who has asked where it is not the gate": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		for _, uid := range f.AskersWithdrawn() {
			if all := st.Decision.SkipWithdrawn(uid); all != nil {
				st.Decision.AskedBy = all
			}
		}
		return st, act
	},
	"takes a drain that was skipped for one that is over": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		was := f.Status.Drain
		if was == nil || was.Ended != api.DrainSkipped {
			return fence.Decide(f, s, now)
		}
		f.Status.Drain = was.DeepCopy()
		f.Status.Drain.Ended = api.DrainEmpty
		st, act := fence.Decide(f, s, now)
		if f.Status.Drain = was; st.Drain != nil && st.Drain.Ended == api.DrainEmpty {
			st.Drain.Ended = api.DrainSkipped
		}
		return st, act
	},
	"cuts all the same what its policy gives up now": atGate(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if r := f.Status.Drain; r != nil && r.Ended == api.DrainTimeIsOver {
			f.Status.Decision.Settings.Drain.OnTimeout = api.DrainThenFence
		}
	}),
	"drains anew once the time was over": atGate(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if r := f.Status.Drain; r != nil && r.Ended == api.DrainTimeIsOver {
			r.Ended, r.EndedAt = "", nil
		}
	}),
	"begins a drain on an old yes": inDrain(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Drain != nil {
			f.Status.Drain.LetAt = nil
		}
	}),
	"takes a node for drained that was given back since": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		was := f.Status.Drain.DeepCopy()
		st, act := fence.Decide(f, s, now)
		if f.Status.Outcome == api.SentBack && st.Drain == nil {
			st.Drain = was
		}
		return st, act
	},
}
