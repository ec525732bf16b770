package program

import (
	"context"
	"errors"
	"testing"
)

// TestServeEndsWhole: when the source ends, its probes end too, and its error is returned;
// a requested end is no error.
func TestServeEndsWhole(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		listen string
		source func(context.Context) error
		want   string
	}{
		"the source ends":        {"127.0.0.1:0", func(context.Context) error { return broken }, "broken"},
		"the source has no more": {"127.0.0.1:0", func(context.Context) error { return nil }, ""},
		"its address is nobody's": {"nowhere:-1", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, "listen on nowhere:-1: listen tcp: address -1: invalid port"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Serve(t.Context(), tc.listen, Probes(Registry(), func() error { return nil }, ""), tc.source); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("it gives %q, want %q", got, tc.want)
			}
		})
	}
}

// TestServeEndsWhenAsked without an error.
func TestServeEndsWhenAsked(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	err := Serve(ctx, "127.0.0.1:0", Probes(Registry(), func() error { return nil }, ""), func(ctx context.Context) error {
		stop()
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Error(err)
	}
}
