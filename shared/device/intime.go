package device

import (
	"context"
	"errors"
	"io"
	"time"
)

// A virtual machine may be suspended in the middle of a conversation. The deadline of a
// context does not count that time. When the process runs again, another process may have
// gone on with the machine long ago. So before a switching command is sent, the time is
// checked by a clock that counts suspended time (S8: the intent is saved before the call).

type claimLeft struct{}

// Timely has InTime and Left ask left how much of the claim's time is left, by a clock that
// counts suspended time. Nothing or less means that no switching command may be sent any more.
func Timely(ctx context.Context, left func() time.Duration) context.Context {
	return context.WithValue(ctx, claimLeft{}, left)
}

// ErrLate is the error of a command that was not sent, because the claim's time was over.
var ErrLate = errors.New("the time for this call ran out before it was made")

// InTime returns an error once no switching command may be sent any more. Drivers call it
// right before they send the command, after everything else in the conversation.
func InTime(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if left, ok := ctx.Value(claimLeft{}).(func() time.Duration); ok && left() <= 0 {
		return ErrLate
	}
	return nil
}

// Left is how much time a call has: until the context's deadline, or until the claim's time is
// over, whichever comes first. It is false if there is neither.
func Left(ctx context.Context) (left time.Duration, bounded bool) {
	end, bounded := ctx.Deadline()
	if bounded {
		left = time.Until(end)
	}
	if claim, ok := ctx.Value(claimLeft{}).(func() time.Duration); ok {
		if of := claim(); !bounded || of < left {
			left, bounded = of, true
		}
	}
	return left, bounded
}

// TimelyBody is the body of an HTTP request that switches. Reading it fails once the time
// is over, so that no whole request is sent if a connection had to be made first. The
// caller must set the length of the request.
func TimelyBody(ctx context.Context, body io.Reader) io.Reader { return &timelyBody{ctx, body} }

type timelyBody struct {
	ctx  context.Context
	body io.Reader
}

func (b *timelyBody) Read(p []byte) (int, error) {
	if err := InTime(b.ctx); err != nil {
		return 0, err
	}
	return b.body.Read(p)
}
