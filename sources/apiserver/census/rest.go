package census

import "time"

const (
	// every is the shortest time between two censuses while changes keep coming: so many
	// changes are one write. firstRest is that after the first one for a while.
	every     = 100 * time.Millisecond
	firstRest = 10 * time.Millisecond
	// longest is the longest rest, where each write takes long.
	longest = 500 * time.Millisecond
)

// Rest is how long the source rests after a census that a change asked for. A node that
// fails a moment after another change hardly waits, and a hundred nodes that fail together
// are a few writes.
type Rest struct {
	last time.Time
	long time.Duration
}

// After is the rest after a census of now that took so long to write: twice the last rest, if that
// was not long ago. It is four times what the write took at least: a gate reads the ledger, decides
// and writes it in that time. Where the API server is slow, each of its writes would be a conflict
// otherwise.
func (r *Rest) After(now time.Time, took time.Duration) time.Duration {
	if ago := now.Sub(r.last); ago > 2*max(every, r.long+took) {
		r.long = firstRest
	} else {
		r.long = max(min(2*r.long, every), min(4*took, longest))
	}
	r.last = now
	return r.long
}
