package census

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestARestGrowsInABurst: a change that follows another one alone waits little, and the censuses of
// a burst come further and further apart.
func TestARestGrowsInABurst(t *testing.T) {
	var r Rest
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var got []time.Duration
	for range 6 {
		long := r.After(now)
		got = append(got, long/time.Millisecond)
		now = now.Add(long)
	}
	got = append(got, r.After(now.Add(time.Second))/time.Millisecond)
	if d := cmp.Diff([]time.Duration{10, 20, 40, 80, 100, 100, 10}, got); d != "" {
		t.Error(d)
	}
}
