package rmcp

import (
	"fmt"

	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// The window of sequence numbers around the highest accepted one. UDP may lose some answers
// and reorder others; one conversation has few of them.
const (
	ahead  = 64
	behind = 16
)

// window accepts each sequence number of the BMC once.
type window struct {
	highest uint32
	// seen has a bit for the highest number and for each before it.
	seen uint32
}

func (w *window) take(n uint32) error {
	switch {
	case n == 0:
		return fmt.Errorf("%w: sequence 0", wire.ErrNotAuthentic)
	case w.seen == 0, n > w.highest && n-w.highest <= ahead: // the first number says where the BMC begins to count
		w.seen = w.seen<<(n-w.highest) | 1
		w.highest = n
		return nil
	case n > w.highest || w.highest-n >= behind:
		return fmt.Errorf("%w: sequence %d is out of the window around %d", wire.ErrNotAuthentic, n, w.highest)
	case w.seen&(1<<(w.highest-n)) != 0:
		return fmt.Errorf("%w: sequence %d is a replay", wire.ErrNotAuthentic, n)
	}
	w.seen |= 1 << (w.highest - n)
	return nil
}
