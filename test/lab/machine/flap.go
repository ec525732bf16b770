package machine

import (
	"context"
	"fmt"
	"time"
)

const (
	flaps = 3
	// flapLimit is above the 50s that upstream leaves a silent node.
	flapLimit = 90 * time.Second
	flapPoll  = 100 * time.Millisecond
)

// flapping is a network that comes and goes. Each state lasts until the cluster has noticed it
// and a Lease period longer, so that others notice it too. Any verb or change of power ends it.
type flapping struct{ cancel context.CancelFunc }

func (h *hardware) startFlap() error {
	if h.state() != stateRunning {
		return fmt.Errorf("%w: it is %s", errState, h.state())
	}
	ctx, cancel := context.WithCancel(h.ctx)
	f := &flapping{cancel}
	h.flap = f
	h.wg.Go(func() { h.flapAlong(ctx, f) })
	return nil
}

// endFlap is called under the lock and leaves the network up.
func (h *hardware) endFlap() {
	if h.flap == nil {
		return
	}
	h.flap.cancel()
	h.flap = nil
	h.setCut(false)
}

func (h *hardware) flapAlong(ctx context.Context, f *flapping) {
	for range flaps {
		for _, cut := range []bool{true, false} {
			if !h.flapTo(f, cut) {
				return
			}
			h.awaitReady(ctx, !cut)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.flap == f {
		h.endFlap()
	}
}

// flapTo does nothing once the flapping has been ended.
func (h *hardware) flapTo(f *flapping, cut bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.flap != f {
		return false
	}
	h.setCut(cut)
	return true
}

func (h *hardware) awaitReady(ctx context.Context, want bool) {
	defer pause(ctx, h.dwell)
	ctx, cancel := context.WithTimeout(ctx, flapLimit)
	defer cancel()
	tick := time.NewTicker(flapPoll)
	defer tick.Stop()
	for h.ready() != want {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
