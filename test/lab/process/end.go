package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	poll      = 10 * time.Millisecond
	killLimit = 5 * time.Second
)

// End asks the process to end, and kills it if it hasn't within grace. It
// returns nil only if the process is gone; that it was gone before is fine.
func (id ID) End(ctx context.Context, grace time.Duration) error {
	if !id.Alive() {
		return nil
	}
	// FindProcess opens a handle to the process (a pidfd). Checking after that once more whether
	// it is ours closes the gap in which the PID could be reused.
	handle, err := os.FindProcess(id.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", id.PID, err)
	}
	defer handle.Release()
	if !id.Alive() {
		return nil
	}
	if err := signal(handle, syscall.SIGTERM); err != nil {
		return err
	}
	if id.gone(ctx, grace) {
		return nil
	}
	if err := signal(handle, syscall.SIGKILL); err != nil {
		return err
	}
	// Not bound to ctx: after a KILL we can only wait for its effect.
	if !id.gone(context.WithoutCancel(ctx), killLimit) {
		return fmt.Errorf("end process %d: still there %s after a kill", id.PID, killLimit)
	}
	return nil
}

func signal(handle *os.Process, sig syscall.Signal) error {
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", handle.Pid, err)
	}
	return nil
}

func (id ID) gone(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for id.Alive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return !id.Alive()
		}
	}
	return true
}
