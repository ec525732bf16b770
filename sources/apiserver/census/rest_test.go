package census

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestARestGrowsInABurst: a change that follows another one alone waits little, and the censuses of
// a burst come further and further apart. Where a write takes long, they leave the gates the time
// for theirs.
func TestARestGrowsInABurst(t *testing.T) {
	for took, want := range map[time.Duration][]time.Duration{
		5 * time.Millisecond:   {10, 20, 40, 80, 100, 100, 10},
		60 * time.Millisecond:  {10, 240, 240, 240, 240, 240, 10},
		300 * time.Millisecond: {10, 500, 500, 500, 500, 500, 10},
	} {
		var r Rest
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		var got []time.Duration
		for range 6 {
			now = now.Add(took)
			long := r.After(now, took)
			got = append(got, long/time.Millisecond)
			now = now.Add(long)
		}
		got = append(got, r.After(now.Add(2*time.Second), took)/time.Millisecond)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("a write takes %v: %s", took, d)
		}
	}
}
