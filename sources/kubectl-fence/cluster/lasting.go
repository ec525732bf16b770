package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// finishWithin is how long a write may take after Ctrl-C.
const finishWithin = 10 * time.Second

// lasting is for a write. Once it has begun it is not given up at Ctrl-C, because the API server may carry it
// out all the same, and a FenceRequest of which nobody knows the name could not be withdrawn. Call end after
// it. The error says that it must not begin.
func lasting(ctx context.Context) (out context.Context, end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(finishWithin, cancel) })
	return out, func() { stop(); cancel() }, nil
}

// unsure says of a write that was given up what is not known.
func unsure(err error, what string) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted, and the API server has not answered within %s: %s is not known; look before you repeat it", finishWithin, what)
	}
	return err
}
