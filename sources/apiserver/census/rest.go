package census

import "time"

const (
	// every is the shortest time between two censuses while changes keep coming: so many
	// changes are one write. firstRest is that after the first ones for a while.
	every     = 100 * time.Millisecond
	firstRest = 10 * time.Millisecond
	// fewInARow is how many censuses one fence alone asks for, one soon after the other: its node is
	// healthy, its Lease moves, its taint is off, its record is closed.
	fewInARow = 4
	// longest is the longest rest, where each write takes long.
	longest = 500 * time.Millisecond
)

// Rest is how long the source rests after a census that a change asked for. A node that
// fails a moment after another change hardly waits, and a hundred nodes that fail together
// are a few writes.
type Rest struct {
	last time.Time
	long time.Duration
	row  int
}

// After is the rest after a census of now that took so long to write: once a few follow each other,
// twice the last rest. It is four times what the write took at least then: a gate reads the ledger,
// decides and writes it in that time. Where the API server is slow, each of its writes would be a
// conflict otherwise. A change that the census did not have to be written for is no part of a row.
func (r *Rest) After(now time.Time, took time.Duration, wrote bool) time.Duration {
	if !wrote {
		return max(firstRest, min(took, longest))
	}
	if r.row++; now.Sub(r.last) > 2*max(every, r.long+took) {
		r.row = 1
	}
	if r.last = now; r.row <= fewInARow {
		r.long = firstRest
	} else {
		r.long = max(min(2*r.long, every), min(4*took, longest))
	}
	return r.long
}
