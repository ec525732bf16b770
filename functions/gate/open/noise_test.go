package open

import (
	"testing"
	"time"
)

// TestNobodyAsksForEarlyProbes: of many late Leases the policies are read once, and
// again some time later.
func TestNobodyAsksForEarlyProbes(t *testing.T) {
	now := time.Now()
	var f NoiseFilter
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{-time.Second, false}, {0, true}, {noiseFor - 1, true}, {noiseFor, false}} {
		f.remember(now)
		if got := f.remembers(now.Add(c.after)); got != c.want {
			t.Errorf("after %s: passed by unread %v, want %v", c.after, got, c.want)
		}
	}
}
