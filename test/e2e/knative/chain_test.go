package knative

import "testing"

// TestACrashedNodeIsFencedOverKnative is the main story: every hop is an event
// through the real broker.
func TestACrashedNodeIsFencedOverKnative(t *testing.T) {
	w := newWorld(t)
	w.deploy()
	victim := w.database()
	w.crash(victim).end()
	if n, err := w.lost(victim); err != nil || n > 0 {
		t.Errorf("%d dead letters in a run without faults: %v", n, err)
	}
}
