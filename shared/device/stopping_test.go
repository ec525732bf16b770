package device

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestArrived: a way off is waited for within the caller's time, anything else
// is passed on at once.
func TestArrived(t *testing.T) {
	off := Reading{Power: Off, Identity: "i"}
	for name, tc := range map[string]struct {
		// limit of the caller; none if zero.
		limit time.Duration
		// takes is how long the machine is on its way; then comes err or off.
		takes time.Duration
		err   error
		want  Reading
		kind  error
		at    time.Duration
	}{
		"off already":                      {limit: 20 * time.Second, want: off},
		"off soon":                         {limit: 20 * time.Second, takes: 4500 * time.Millisecond, want: off, at: 5 * time.Second},
		"on its way for longer":            {limit: 20 * time.Second, takes: time.Hour, kind: ErrStopping, at: 18 * time.Second},
		"a caller with little time":        {limit: 2 * time.Second, takes: time.Second, kind: ErrStopping},
		"a caller who says nothing of it":  {takes: time.Second, kind: ErrStopping},
		"a device that goes away meantime": {limit: 20 * time.Second, takes: time.Second, err: ErrUnreachable, kind: ErrUnreachable, at: time.Second},
		"a device that isn't there":        {limit: 20 * time.Second, err: ErrUnreachable, kind: ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				if tc.limit > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), tc.limit)
				}
				defer cancel()
				start := time.Now()
				got, err := Arrived(ctx, func(context.Context) (Reading, error) {
					switch {
					case time.Since(start) < tc.takes:
						return Reading{}, ErrStopping
					case tc.err != nil:
						return Reading{}, tc.err
					}
					return off, nil
				})
				if d := cmp.Diff([]any{tc.want, tc.at}, []any{got, time.Since(start)}); d != "" || !errors.Is(err, tc.kind) {
					t.Error(err, d)
				}
			})
		})
	}
}

// TestArrivedIsCancelled: who hangs up is not waited for.
func TestArrivedIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		start := time.Now()
		time.AfterFunc(2500*time.Millisecond, cancel)
		_, err := Arrived(ctx, func(context.Context) (Reading, error) { return Reading{}, ErrStopping })
		if d := time.Since(start); d != 2500*time.Millisecond || !errors.Is(err, ErrStopping) {
			t.Error(d, err)
		}
	})
}
