package facts

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// DrainTook is how long the node was drained until now: isolated, and in phase Draining. Of the time
// since the last look no more counts than lies between two of them, as nobody has asked its pods.
func DrainTook(st *api.NodeFenceStatus, now time.Time) time.Duration {
	switch r := st.Drain; {
	case r == nil:
		return 0
	case r.CountedAt == nil:
		return r.Spent.Duration
	default:
		return r.Spent.Duration + min(Resync, max(0, now.Sub(r.CountedAt.Time)))
	}
}

// drainTookSince is how much of that was after a time, at most.
func drainTookSince(st *api.NodeFenceStatus, from, now time.Time) time.Duration {
	if st.Drain == nil {
		return 0
	}
	if end := st.Drain.EndedAt; end != nil {
		return max(0, min(DrainTook(st, now), end.Sub(from)))
	}
	return max(0, min(DrainTook(st, now), now.Sub(from)))
}
