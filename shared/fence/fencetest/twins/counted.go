package twins

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenCounts are the twins of the second walk.
var brokenCounts = map[string]twin{
	"does not count its tries": {threeOffs, Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Status.Retries = 0 })},
	"does not count a call whose end nobody reported": {threeOffs, Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if c := f.Status.Claim; c != nil && now.After(c.NotAfter.Time) {
			f.Status.Retries--
		}
	})},
	"takes a proof for the end of its tries": {threeOffs, Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			f.Status.Retries = 0
		}
	})},
	"reads a device that does not answer as often as it likes": {"S26: a step is tried three times at most", Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := s.Call; c != nil && c.Call == api.CallRead && c.Power == "" {
			f.Status.Retries--
		}
	})},
	"passes through its flow once more": {"S26: a flow is passed through three times at most", Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.Power.Restarts = 3
	})},
	"cuts once more a day": {"S26: a node is cut twice a day at most", Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.PerNode.CutsPerDay = 3
	})},
	"forgets this fence's cuts when it passes its flow again": {"S26: a node is cut twice a day at most", Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Pending && f.Status.Restarts > 0 {
			f.Status.Power.CutAt = &api.Time{}
		}
	})},
	"counts a fence that cut nothing":  {realCuts, pastAs(func(p *api.PastFence, _ time.Time) { p.Cuts = max(p.Cuts, 1) })},
	"counts a cut for more than a day": {realCuts, pastAs(func(p *api.PastFence, now time.Time) { p.ClosedAt = observed.StampOf(now) })},
	"counts the cuts of the day before with the next": {realCuts, func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if act == fence.Off && !f.Status.Power.SwitchedByUs && f.Status.FenceNumber == st.FenceNumber {
			st.Power.Cuts = f.Status.Power.Cuts + 1
		}
		return st, act
	}},
	"counts an Off that is sent again": {"S26: a record counts each cut once", func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if act == fence.Off && f.Status.Power.SwitchedByUs {
			st.Power.Cuts++
		}
		return st, act
	}},
	"leaves off what was cut once": {"S25: what was cut once a day is not left off", Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.PerNode.CutsPerDay = 1
	})},
	"switches on again however often it cut": {"S26: what was cut twice a day stays off", Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.PerNode.OnLast = api.OnLastHold
	})},
	"forgets a fence that cut, for ten came after it": {"S26: a fence that cut within a day is remembered", onOpening(func(was, st *api.NodeFenceStatus) {
		all := append(slices.Clone(was.Past), st.Past[len(st.Past)-1])
		st.Past = all[max(0, len(all)-10):]
	})},
	"remembers each fence for ever": {"S26: ten fences that don't count are remembered at most", onOpening(func(was, st *api.NodeFenceStatus) {
		st.Past = append(slices.Clone(was.Past), st.Past[len(st.Past)-1])
	})},
	"has a closed fence's cuts forgotten": {"S26: a closed fence counts the cuts that it made, from its end", onOpening(func(_, st *api.NodeFenceStatus) {
		st.Past[len(st.Past)-1].Cuts = 0
	})},
	"forgets how a fence began": {"S28: how a fence began is not forgotten", after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if n := len(st.History); n == 64 {
			st.History = st.History[1:]
		}
	})},
	"tells a story without an end": {"S28: a history has 64 sentences at most", func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if n := len(f.Status.History); n >= 64 && n == len(st.History) {
			st.History = append(slices.Clone(f.Status.History), st.History[n-1])
		}
		return st, act
	}},
	"tells what was last at first": {"S28: a history is in the order of time", after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if n := len(st.History); n > 2 && n < 64 {
			st.History[n-1], st.History[n-2] = st.History[n-2], st.History[n-1]
		}
	})},
}

const (
	threeOffs = "S26: a pass through the flow sends three Offs at most"
	realCuts  = "S26: a day's limit counts real cuts only"
)

// pastAs shows Decide another past, which the record does not keep.
func pastAs(change func(*api.PastFence, time.Time)) walk.Decider {
	return func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		if f.Status.Phase == "" {
			return fence.Decide(f, s, now)
		}
		g := *f
		g.Status.Past = slices.Clone(f.Status.Past)
		for i := range g.Status.Past {
			change(&g.Status.Past[i], now)
		}
		st, act := fence.Decide(&g, s, now)
		st.Past = f.Status.Past
		return st, act
	}
}

// onOpening changes what a record becomes when its fence opens again.
func onOpening(change func(was, st *api.NodeFenceStatus)) walk.Decider {
	return func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if f.Status.Phase == "" && len(st.Past) > 0 {
			change(&f.Status, &st)
		}
		return st, act
	}
}
