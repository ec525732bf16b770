package device

import (
	"context"
	"time"
)

// Shorter reserves time for the end of a session, so that a call ends within its caller's
// time.
func Shorter(ctx context.Context, goodbye time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := time.Until(end)
	return context.WithDeadline(ctx, end.Add(-min(goodbye, left/4)))
}

// Goodbye is the time for the end of a session. It is no longer than the caller's time, but
// does not end with a cancelled call. A device has few sessions, and an abandoned session
// may take half an hour to end by itself (S10: nothing outlives its deadline).
func Goodbye(ctx context.Context, goodbye time.Duration) (context.Context, context.CancelFunc) {
	until := time.Now().Add(goodbye)
	if end, ok := ctx.Deadline(); ok && end.Before(until) {
		until = end
	}
	return context.WithDeadline(context.WithoutCancel(ctx), until)
}
