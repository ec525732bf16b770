package device

import (
	"context"
	"errors"
	"time"
)

// ErrStopping is for State of a machine that is on its way off and still runs:
// neither on, or somebody would send an Off and later switch on what another
// hand had switched off (S12), nor off (S2).
var ErrStopping = errors.New("machine is on its way off")

const (
	// again is between two looks at a machine on its way off.
	again = time.Second
	// answers is what a look at one may take, kept back of the caller's time.
	answers = 2 * time.Second
)

// Arrived looks until a machine is no more on its way off, or the caller's time
// would not do for another look. A way off takes longer than the tries that a
// caller has for a device without an answer, one right after the other.
func Arrived(ctx context.Context, look func(context.Context) (Reading, error)) (Reading, error) {
	for {
		r, err := look(ctx)
		end, ok := ctx.Deadline()
		if !errors.Is(err, ErrStopping) || !ok || time.Until(end) < again+answers {
			return r, err
		}
		t := time.NewTimer(again)
		select {
		case <-ctx.Done():
			t.Stop()
			return Reading{}, err
		case <-t.C:
		}
	}
}
