package await

import (
	"testing"
	"time"
)

// That returns once a condition holds, and fails the test if it never does.
func That(t testing.TB, what string, so func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited a minute for %s", what)
		}
	}
}
