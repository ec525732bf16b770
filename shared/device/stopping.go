package device

import (
	"context"
	"errors"
	"time"
)

// ErrStopping is for State of a machine that is shutting down and still runs. It is not on:
// otherwise an Off would be sent, and nodefence would later switch on what somebody else
// had switched off (S12). It is not off either (S2).
var ErrStopping = errors.New("machine is on its way off")

const (
	// again is the pause between two reads of a machine that is shutting down.
	again = time.Second
	// answers is how long one read may take, reserved from the caller's time.
	answers = 2 * time.Second
)

// Arrived reads until a machine is no longer shutting down, or until the caller's time is
// too short for another read. A shutdown takes longer than a caller's retries for a device
// without an answer, which follow right after one another.
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
