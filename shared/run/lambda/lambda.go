package lambda

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	runtime "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/run"
)

// RuntimeAPI is a variable that Lambda sets for its functions.
const RuntimeAPI = "AWS_LAMBDA_RUNTIME_API"

// margin is the part of an invocation's time that a handler must leave, so that it ends by
// itself, with no call outstanding (S10: nothing outlives its deadline), and its reply can
// still be sent.
const margin = 3 * time.Second

// afterMargin is the part of an invocation's time that what comes after it must leave: Lambda kills a
// process whose invocation is late.
const afterMargin = 500 * time.Millisecond

// Function is a handler as Lambda invokes it.
type Function struct {
	handle run.Handler
	bus    run.Sender
	log    *slog.Logger
	after  func(context.Context)
	// expects is how long an invocation is said to get; said that one got less was told.
	expects time.Duration
	said    atomic.Bool
}

// started is the part of an invocation's time that may be over before it is looked at.
const started = 5 * time.Second

// Expects has the log say, once, that Lambda gives an invocation less time than the settings say it
// does: a slow call to a device would be cut off, and its end not saved.
func (f *Function) Expects(invocation time.Duration) { f.expects = invocation }

// warn tells of an invocation that got too little time.
func (f *Function) warn(ctx context.Context, log *slog.Logger) {
	end, ok := ctx.Deadline()
	if left := time.Until(end); ok && left < f.expects-started && f.said.CompareAndSwap(false, true) {
		log.Error("Lambda gives an invocation less time than NODEFENCE_INVOCATION_TIMEOUT says: set the function's Timeout to that, or NODEFENCE_INVOCATION_TIMEOUT to Timeout", "left", left.Round(time.Second).String(), "expected", f.expects.String())
	}
}

// After has each invocation end with this, once its reply is sent. It must return when its context
// ends, and within a second or so: Lambda bills the time.
func (f *Function) After(do func(context.Context)) { f.after = do }

// New returns a Function that puts h's replies on the bus. The logger is slog's default if
// nil.
func New(h run.Handler, bus run.Sender, log *slog.Logger) *Function {
	if log == nil {
		log = slog.Default()
	}
	return &Function{handle: run.Recover(h), bus: bus, log: log}
}

// Start asks the Runtime API for events until the process ends. It does not return.
func Start(f *Function) { runtime.StartWithOptions(f) }

// Invoke handles one event. An error asks Lambda to invoke again. The error's text goes
// into dead letters, so it has no details; the log has them.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if f.after != nil {
		defer f.finish(ctx)
	}
	log := f.log
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		log = log.With("request", lc.AwsRequestID)
	}
	f.warn(ctx, log)
	e, err := read(ctx, payload)
	switch {
	case errors.Is(err, errForeign):
		log.Info("ignored", "reason", "Foreign", "error", err)
		return nil, nil
	case err != nil:
		log.Warn("event refused", "error", err)
		return nil, nil
	}
	log = log.With("event", e.ID(), "type", e.Type(), "node", e.Subject())
	reply, err := f.call(ctx, e)
	switch {
	case errors.Is(err, run.ErrMalformed):
		log.Warn("event refused", "error", err)
		return nil, nil
	case err != nil:
		log.With(run.Stack(err)...).Error("event failed", "error", err)
		return nil, run.ErrAgain
	case reply == nil:
		return nil, nil
	}
	if err := f.bus.Send(ctx, *reply); err != nil {
		// The whole invocation is repeated. The handler looks before it acts.
		log.Error("reply not sent", "reply", reply.ID(), "error", err)
		return nil, run.ErrAgain
	}
	return nil, nil
}

func (f *Function) call(ctx context.Context, e event.Event) (*event.Event, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-margin))
		defer cancel()
	}
	return f.handle(ctx, e)
}

// finish does what comes after an invocation.
func (f *Function) finish(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-afterMargin))
		defer cancel()
	}
	f.after(ctx)
}
