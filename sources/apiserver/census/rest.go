package census

import "time"

const (
	// every is the shortest time between two censuses while changes keep coming: so many
	// changes are one write. firstRest is that after the first one for a while.
	every     = 100 * time.Millisecond
	firstRest = 10 * time.Millisecond
)

// Rest is how long the source rests after a census that a change asked for. A node that
// fails a moment after another change hardly waits, and a hundred nodes that fail together
// are a few writes.
type Rest struct {
	last time.Time
	long time.Duration
}

// After is the rest after a census of now: twice the last one, if that was not long ago.
func (r *Rest) After(now time.Time) time.Duration {
	if ago := now.Sub(r.last); ago > 2*every {
		r.long = firstRest
	} else {
		r.long = min(2*r.long, every)
	}
	r.last = now
	return r.long
}
