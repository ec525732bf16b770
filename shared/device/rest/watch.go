package rest

import (
	"context"
	"time"
)

const (
	// patience is how long an accepted command is watched for a refusal. Whether the
	// command has its effect is read later by State.
	patience = 2 * time.Second
	// pause is the time between two looks.
	pause = 200 * time.Millisecond
)

// Watch reads the progress of an accepted command until it is done, or has failed, or
// enough of the caller's time has passed.
func Watch(ctx context.Context, look func(context.Context) (done bool, err error)) error {
	until := time.Now().Add(patience)
	if end, ok := ctx.Deadline(); ok && time.Until(end)/2 < patience {
		until = time.Now().Add(time.Until(end) / 2)
	}
	for {
		if done, err := look(ctx); done || err != nil {
			return err
		}
		if !time.Now().Add(pause).Before(until) {
			return nil
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil // the command was accepted, and the caller has gone
		case <-t.C:
		}
	}
}
