package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// drainLooks vary what only such a fence looks at.
func drainLooks(s *State, with func(func(*observed.Look))) {
	if !s.drains() {
		return
	}
	pod := []observed.Pod{{Namespace: "a", Name: "p"}}
	switch s.st.Phase {
	case "", api.Pending:
		with(func(y *observed.Look) { y.MayDrain, y.Reserved = false, nil })
		with(func(y *observed.Look) {
			y.MayDrain, y.Reserved, y.Verdict = false, nil, &observed.Verdict{Reason: api.TooManyUnhealthy, Message: "5 of 10", Again: time.Second}
		})
		with(func(y *observed.Look) { y.Lease.Exists = false })
		with(func(y *observed.Look) { y.Node.Excluded = "by a label" })
		with(func(y *observed.Look) { y.Node.Taint = false })
		if !s.sh.overAt.IsZero() {
			before := s.sh.overAt.Add(-time.Second)
			with(func(y *observed.Look) { y.Reserved = &before })
		}
	case api.Fencing:
		with(func(y *observed.Look) { y.Node.Taint = false })
	case api.Draining:
		with(func(y *observed.Look) { y.Draining = nil })
		with(func(y *observed.Look) { y.Draining = &observed.Draining{Evict: pod} })
		with(func(y *observed.Look) { y.Draining = &observed.Draining{Leaving: []string{"a/p"}} })
		with(func(y *observed.Look) {
			y.Draining, y.Evicted = &observed.Draining{Evict: pod}, &observed.Evicted{Held: []string{"a/p: a budget"}}
		})
		with(func(y *observed.Look) { y.Draining, y.Node.Taint = &observed.Draining{Evict: pod}, false })
		for _, b := range []observed.Brakes{{Looked: true, Changed: true}, {Looked: true, Paused: true}, {Looked: true, Stopped: true}, {Looked: true, Storm: true}, {}} {
			with(func(y *observed.Look) { y.Draining, y.Brakes = &observed.Draining{Evict: pod}, b })
		}
		with(func(y *observed.Look) { y.Lease.Exists, y.Draining = false, &observed.Draining{Evict: pod} })
	}
}

// drainWaits are until the Lease is old, and until the drain's time is over.
func drainWaits(s *State) []time.Duration {
	if s.drains() && (s.st.Phase == api.Draining || s.st.Phase == api.Pending) {
		return []time.Duration{2*fencetest.Renewal + time.Second}
	}
	return nil
}
