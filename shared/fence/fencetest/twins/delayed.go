package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenDelayed lack a guard of isolation.powerDelay.
var brokenDelayed = map[string]walk.Decider{
	"does not wait before it cuts power": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.Isolation.PowerDelay.Duration = 0
	}),
	"counts on when the taint was taken away": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Pending && f.Status.Placed.IsolatedAt != nil {
			s.Node.Taint = true
		}
	}),
	"keeps its slot while it waits before power": after(func(st *api.NodeFenceStatus, _ fence.Action, now time.Time) {
		if st.Reason == api.WaitingBeforePower {
			at := observed.StampOf(now)
			st.DecidedAt = &at
		}
	}),
	"sleeps until the delay is over": after(func(st *api.NodeFenceStatus, _ fence.Action, now time.Time) {
		if st.Reason == api.WaitingBeforePower {
			at := observed.StampOf(now.Add(time.Minute))
			st.NextLook = &at
		}
	}),
}

// LongCalls are those whose limits do not follow the longest call of a slow device, or follow it
// too far.
func LongCalls() []Twin {
	var all []Twin
	for name, x := range brokenLong {
		all = append(all, Twin{Name: name, Breaks: x.promise, Decide: x.decide, specs: []fencetest.Given{specs.LongCalls()}, live: true, hunts: few})
	}
	return all
}

const endsWell = "S27: it ends in a world in which everything works"

// brokenLong are the twins of the walk of long calls.
var brokenLong = map[string]twin{
	"takes its yes for too old while its call is under way": {endsWell, Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if at := f.Status.DecidedAt; at != nil && now.Sub(at.Time) > facts.DecisionValidity {
			f.Status.DecidedAt = longBefore(now)
		}
	})},
	"takes a proof for too old whose read took its whole time": {endsWell, Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if p := f.Status.Proof; p != nil && p.Type.Ages() && now.Sub(p.At.Time) > facts.ProofValidity {
			p.At = *longBefore(now)
		}
	})},
	"takes a read for too old that took its whole time": {endsWell, Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if r := f.Status.Power.LastRead; r != nil && now.Sub(r.At.Time) > usualRead {
			r.At = *longBefore(now)
		}
	})},
	"forgets the first read of off while the second is made": {endsWell, Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if r := f.Status.Power.FirstOff; r != nil && now.Sub(r.At.Time) > facts.DecisionValidity {
			f.Status.Power.FirstOff = nil
		}
	})},
	"takes a yes of any age": {"S17: no first Off on an old decision", Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		at := observed.StampOf(now)
		f.Status.DecidedAt = &at
	})},
	"takes a proof of any age": {"S3: the proof is fresh", Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if p := f.Status.Proof; p != nil && p.Type.Ages() {
			p.At = observed.StampOf(now)
		}
	})},
}

// usualRead is how old a read may be where a call takes as long as usual.
const usualRead = api.DeviceCall + facts.Resync + facts.Handover

// longBefore is a time that is too old for anything.
func longBefore(now time.Time) *api.Time {
	at := observed.StampOf(now.Add(-24 * time.Hour))
	return &at
}
