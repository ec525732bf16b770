package twins

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// mistake takes the answer of another machine for the node's own.
func mistake(s *observed.Look, power string) {
	if s.Call != nil && s.Call.Wrong {
		s.Call.Wrong, s.Call.Power = false, power
	}
}

// unsettled takes the second read at any time, and writes down when both were.
func unsettled(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
	first := f.Status.Power.FirstOff
	if first == nil || walk.CallElsewhere(&f.Status.Decision, &f.Status, s.Me, now) {
		return fence.Decide(f, s, now)
	}
	g := *f
	g.Status = *f.Status.DeepCopy()
	long := observed.StampOf(first.At.Add(-10 * time.Second))
	g.Status.Power.FirstOff.At, g.Status.Power.NotBefore = long, nil
	st, act := fence.Decide(&g, s, now)
	if r := st.Power.FirstOff; r != nil && r.At.Equal(&long) {
		r.At = first.At
	}
	if p := st.Proof; p != nil && len(p.Reads) == 2 && p.Reads[0].At.Equal(&long) {
		p.Reads[0].At = first.At
	}
	return st, act
}

// noLead has a device read off only when the machine is off.
func noLead(f *api.NodeFence) {
	if f.Status.Decision.Power(0) != nil {
		f.Status.Decision.Devices = slices.Clone(f.Status.Decision.Devices)
		f.Status.Decision.Power(0).Lead = &metav1.Duration{}
	}
}

// Before shows Decide another world, unless another's call is in flight, when
// it does nothing whatever the world is like.
func Before(change func(*api.NodeFence, *observed.Look, time.Time)) walk.Decider {
	changed := Always(change)
	return func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		if walk.CallElsewhere(&f.Status.Decision, &f.Status, s.Me, now) {
			return fence.Decide(f, s, now)
		}
		return changed(f, s, now)
	}
}

// Always does so at every step.
func Always(change func(*api.NodeFence, *observed.Look, time.Time)) walk.Decider {
	return func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		g := *f
		g.Status = *f.Status.DeepCopy()
		if s.Call != nil {
			c := *s.Call
			s.Call = &c
		}
		change(&g, &s, now)
		return fence.Decide(&g, s, now)
	}
}

// after takes back what Decide has done.
func after(change func(*api.NodeFenceStatus, fence.Action, time.Time)) walk.Decider {
	return func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		change(&st, act, now)
		return st, act
	}
}
