package census

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestARestGrowsInABurst: a change that follows another one alone waits little, and the censuses of
// a burst come further and further apart, from the fifth on: so many belong to one fence. Where a write takes long, they leave the gates the time
// for theirs.
func TestARestGrowsInABurst(t *testing.T) {
	for took, want := range map[time.Duration][]time.Duration{
		5 * time.Millisecond:   {10, 10, 10, 10, 20, 40, 80, 100, 100, 10},
		60 * time.Millisecond:  {10, 10, 10, 10, 240, 240, 240, 10},
		300 * time.Millisecond: {10, 10, 10, 10, 500, 500, 500, 10},
	} {
		var r Rest
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		var got []time.Duration
		for len(got) < len(want)-1 {
			now = now.Add(took)
			long := r.After(now, took, true)
			got = append(got, long/time.Millisecond)
			now = now.Add(long)
		}
		got = append(got, r.After(now.Add(2*time.Second), took, true)/time.Millisecond)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("a write takes %v: %s", took, d)
		}
	}
}

// TestNothingToWrite: a change that counts for nothing neither begins a row nor goes on with one.
func TestNothingToWrite(t *testing.T) {
	var r Rest
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var got []time.Duration
	for i := range 12 {
		now = now.Add(5 * time.Millisecond)
		long := r.After(now, 5*time.Millisecond, i%2 == 0)
		got = append(got, long/time.Millisecond)
		now = now.Add(long)
	}
	if d := cmp.Diff([]time.Duration{10, 10, 10, 10, 10, 10, 10, 10, 20, 10, 40, 10}, got); d != "" {
		t.Error(d)
	}
}
