package device

import (
	"context"
	"io"
)

// A virtual machine may be suspended in the middle of a conversation. The deadline of a
// context does not count that time. When the process runs again, another process may have
// gone on with the machine long ago. So before a switching command is sent, the time is
// checked by a clock that counts suspended time (S8: the intent is saved before the call).

type inTime struct{}

// Timely makes InTime call ask, which returns an error if no switching command may be sent
// any more.
func Timely(ctx context.Context, ask func() error) context.Context {
	return context.WithValue(ctx, inTime{}, ask)
}

// InTime returns an error once no switching command may be sent any more. Drivers call it
// right before they send the command, after everything else in the conversation.
func InTime(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ask, ok := ctx.Value(inTime{}).(func() error); ok {
		return ask()
	}
	return nil
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
