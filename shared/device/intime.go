package device

import (
	"context"
	"io"
)

// A virtual machine may be suspended in the middle of a conversation. The deadline of a
// context does not count that time, and when it goes on somebody else may have gone on
// with the machine long ago. So what switches is held against a clock that counts it,
// right before it is sent (S8).

type inTime struct{}

// Timely has InTime ask whether what switches a machine may still be sent. The error says
// in words why not.
func Timely(ctx context.Context, ask func() error) context.Context {
	return context.WithValue(ctx, inTime{}, ask)
}

// InTime is an error once nothing may be sent any more that switches a machine. Drivers
// ask right before they send it, after all else that the conversation takes.
func InTime(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ask, ok := ctx.Value(inTime{}).(func() error); ok {
		return ask()
	}
	return nil
}

// TimelyBody is the body of an HTTP request that switches: it fails once its time is over,
// so that nothing whole is sent where a connection had to be made first. Its length is to
// be set by hand.
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
