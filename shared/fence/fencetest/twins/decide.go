package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// broken are Decides that lack one guard each: the guard is shown a world in
// which it has nothing to object to, or its effect is taken back. The walk must
// catch every one of them.
var broken = map[string]walk.Decider{
	"does not mind another's call": Always(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := f.Status.Claim; c != nil && c.Holder != s.Me {
			f.Status.Claim = nil
		}
	}),
	"takes over before a lost Off has had its effect": Always(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if c := f.Status.Claim; c != nil && c.Holder != s.Me && now.After(c.NotAfter.Time) {
			f.Status.Claim = nil
		}
	}),
	"takes over a read that may be under way by its holder's clock": Always(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if c := f.Status.Claim; c != nil && c.Call == api.CallRead && c.Holder != s.Me && !now.Before(c.NotAfter.Time) {
			f.Status.Claim = nil
		}
	}),
	"makes two calls in one invocation": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if s.Call != nil && act == fence.None && st.Phase == api.Fencing {
			return st, fence.Read
		}
		return st, act
	},
	"calls without a claim": after(func(st *api.NodeFenceStatus, act fence.Action, _ time.Time) { st.Claim = nil }),
	"reads unknown as off": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := s.Call; c != nil && c.Call == api.CallRead && c.Power == "" && !c.Wrong {
			c.Power, c.Err = "Off", ""
		}
	}),
	"believes one read": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := s.Call; c != nil && c.Power == "Off" && f.Status.Claim != nil && f.Status.Claim.Holder == s.Me && f.Status.Power.FirstOff == nil {
			f.Status.Power.FirstOff = &api.Read{State: api.PoweredOff, At: observed.StampOf(c.At.Add(-10 * time.Second))}
		}
	}),
	"does not let it settle":                                 unsettled,
	"takes any device for one that never reads off too soon": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { noLead(f) }),
	"forgets that the Lease was fresh": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Power.LeaseFresh = false
		noLead(f) // which is as long here
	}),
	"lets a proof live for ever": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if p := f.Status.Proof; p != nil {
			q := *p
			q.At = observed.StampOf(now)
			f.Status.Proof = &q
		}
	}),
	"takes a Lease that moved before the machine was off for a life": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		p := f.Status.Proof
		if p == nil || f.Status.Phase != api.Recovering {
			return fence.Decide(f, s, now)
		}
		older := *p
		older.At = observed.StampOf(fencetest.Start.Add(-time.Minute))
		f.Status.Proof = &older
		st, act := fence.Decide(f, s, now)
		f.Status.Proof, st.Proof = p, p
		return st, act
	},
	"does not look at the boot ID": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Proof != nil {
			s.Node.BootID = f.Status.Proof.BootIDBefore
		}
	}),
	"releases a node that counts as Ready": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			s.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "Unknown", Since: fencetest.Start}}
		}
	}),
	"does not look at the node's UID": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Node.Exists, s.Node.UID = true, f.Status.Decision.NodeUID
	}),
	"confirms without a person": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		at := f.Status.Decision.Trigger.Since.Time
		if f.Status.Phase == api.Fencing && f.Status.Claim == nil && f.Status.Answer(api.AskedConfirmOff) == nil {
			f.Status.Decision.Devices = nil // so that none is read for it
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: f.Status.FenceNumber, By: "nobody"}}
			f.Spec.Requests.ConfirmOff.At.Time = at
		}
	}),
	"sends Off without a read": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if f.Status.Phase == api.Fencing && s.Call == nil && f.Status.Power.LastRead == nil {
			f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: observed.StampOf(now)}
		}
	}),
	"sends Off on an old read": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if r := f.Status.Power.LastRead; r != nil && s.Call == nil {
			f.Status.Power.LastRead = &api.Read{State: r.State, At: observed.StampOf(now)}
		}
	}),
	"does not mind whose machine answers":     Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { mistake(s, "On") }),
	"takes another machine's off for a proof": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { mistake(s, "Off") }),
	"releases a node that has lost its taint": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Node.Taint = s.Node.Taint || f.Status.Phase == api.Releasing
	}),
	"switches on what others switched off": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			f.Status.Power.SwitchedByUs = true
		}
	}),
	"switches on while an Off may still take effect": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.PoweringOn {
			f.Status.Power.EffectUntil = nil
		}
	}),
	"switches on before its work is gone": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			s.Left = &observed.Left{}
		}
	}),
	"does not see the brakes": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Brakes = observed.Brakes{Looked: s.Brakes.Looked, Counted: s.Brakes.Counted}
	}),
	"does not see that the policies are stricter now": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Brakes.Stricter, s.Brakes.Gone = false, false }),
	"holds only what has not begun against the policies": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Brakes.Stricter = s.Brakes.Stricter && !f.Status.Power.SwitchedByUs
	}),
	"does not ask storm and quorum again": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Brakes.Counted = true }),
	"keeps its taint on an excluded node": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Brakes.Unmark = false }),
	"takes brakes not looked at for off":  Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Brakes.Looked, s.Brakes.Counted = true, true }),
	"switches off what is healthy again, for its last Off did nothing": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		f.Status.Power.CutAt = nil
	}),
	"takes another's off for a late one of its own": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if f.Status.Phase == api.Recovering && f.Status.Power.Cuts > 0 && f.Status.Power.OffAt == nil {
			at := observed.StampOf(now)
			f.Status.Power.OffAt = &at
		}
	}),
	"acts on an old decision": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		at := observed.StampOf(now)
		f.Status.DecidedAt = &at
	}),
	"does not see that the node healed": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Node.Conditions = append(s.Node.Conditions[:0:0], observed.Condition{Type: "Ready", Status: "Unknown", Since: fencetest.Start})
	}),
	"serves a request however old": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if f.Status.Decision.Asker() != nil {
			f.Status.Decision.AskedBy = askedAt(f, now)
		}
	}),
	"serves a request again and again": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.CutOrReleased = false
	}),
	"sends a further Off for a request that is withdrawn": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.CutOrReleased {
			f.Annotations = nil
		}
	}),
	"does not hear an abort":          Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Spec.Requests.Abort = nil }),
	"does not see that it is deleted": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Deleting = false }),
	"lets a batch be begun at any time": after(func(st *api.NodeFenceStatus, act fence.Action, now time.Time) {
		if act == fence.Release {
			late := observed.StampOf(now.Add(time.Hour))
			st.Release.NotAfter = &late
		}
	}),
	"takes a taint that it doesn't see for one that can't come": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Cleared = s.Cleared || !s.Node.OutOfService
	}),
	"leaves the out-of-service taint on": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Cleared = true }),
	"leaves its own taint on": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Node.Taint = s.Node.Taint && f.Status.Phase != api.Recovering
	}),
	"leaves its own cordon on": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Node.Cordoned = s.Node.Cordoned && f.Status.Phase != api.Recovering
		s.Node.Taint = s.Node.Taint && f.Status.Phase != api.Recovering
	}),
	"closes a fence without its report": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if f.Status.Phase == api.Recovering {
			at := observed.StampOf(now)
			f.Status.Report, s.Report = &api.ReportRecord{Name: "r", At: at, Digest: "d"}, &observed.Report{Digest: "d"}
		}
	}),
	"overwrites the report of a fence": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Report = nil }),
	"closes with its finalizer on":     Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Finalizer = false }),
	"does not say when to look next":   after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) { st.NextLook = nil }),
	"cuts where it should only isolate": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.Action = api.ActionReboot
	}),
	"takes what one level said for the next": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if l := f.Status.Power.Level; l > 0 && f.Status.Power.LastRead == nil && f.Status.Power.FirstOff == nil {
			f.Status.Power.FirstOff = &api.Read{State: api.PoweredOff, At: observed.StampOf(now.Add(-time.Minute))}
		}
	}),
	"switches on one level alone": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if l := f.Status.Power.Level; f.Status.Phase == api.PoweringOn {
			f.Status.Power.Cut = []int32{l}
		}
	}),
	"never counts its tries": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Status.Retries, f.Status.Restarts = -9, -9 }),
}
