package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/nodefence/nodefence/shared/clip"
)

// MaxBody is the longest request body that HTTP reads unless told otherwise.
const MaxBody = 1 << 20

// HTTPOptions are the choices of HTTP. The zero value serves.
type HTTPOptions struct {
	// Logger takes refusals and failures; slog's default if nil.
	Logger *slog.Logger
	// MaxBody is in bytes; MaxBody if zero.
	MaxBody int64
	// Invocation is how long the handler may take, whether its caller waits or not; if zero, for as
	// long as the caller waits.
	Invocation time.Duration
}

// HTTP serves h at POST /, the way Knative calls a subscriber. A broker repeats
// on 503 and 500, and gives up at once on 400, 405 and 413.
func HTTP(h Handler, o HTTPOptions) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxBody <= 0 {
		o.MaxBody = MaxBody
	}
	return &endpoint{handle: h, log: o.Logger, maxBody: o.MaxBody, invocation: o.Invocation}
}

type endpoint struct {
	handle     Handler
	log        *slog.Logger
	maxBody    int64
	invocation time.Duration
}

func (s *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/" {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "only POST / takes events")
		return
	}
	e, status, err := s.read(w, r)
	if err != nil {
		s.log.WarnContext(r.Context(), "event refused", "status", status, "error", err)
		refuse(w, status, err.Error())
		return
	}
	log := s.log.With("event", e.ID(), "type", e.Type(), "node", e.Subject())
	reply, status, err := call(r.Context(), s.invocation, s.handle, e)
	if err != nil {
		logFailure(r.Context(), log, status, err)
		refuse(w, status, outward(status, err))
		return
	}
	if reply == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	err = cehttp.WriteResponseWriter(r.Context(), binding.ToMessage(reply), http.StatusOK, w)
	if err != nil {
		// The caller is gone. What the reply says stands in the cluster, and is sent from there.
		log.WarnContext(r.Context(), "reply not written", "error", err)
	}
}

// read reads the whole body before anything is decoded, so that a body that is too long or
// incomplete is never taken for an event.
func (s *endpoint) read(w http.ResponseWriter, r *http.Request) (event.Event, int, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.maxBody))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return event.Event{}, http.StatusRequestEntityTooLarge,
			fmt.Errorf("body longer than %d bytes", s.maxBody)
	}
	if err != nil {
		return event.Event{}, http.StatusBadRequest, fmt.Errorf("read body: %w", err)
	}
	e, err := decode(r.Context(), r.Header, body)
	return e, http.StatusBadRequest, err
}

// panicked is a handler's panic as an error, with its place.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("handler panicked: %v", p.value) }

// call runs the handler, and answers with the status for its error. A broker that hangs up on a slow
// device must not end the call to that device, whose end is saved after it (S7, S10): a sender waits
// for seconds, and with a synchronous channel of Knative it waits for all that follows from its event.
func call(ctx context.Context, invocation time.Duration, h Handler, e event.Event) (*event.Event, int, error) {
	if invocation > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), invocation)
		defer cancel()
	}
	reply, err := Recover(h)(ctx, e)
	var p *panicked
	var refused *Refused
	switch {
	case errors.As(err, &p):
		return nil, http.StatusInternalServerError, err
	case errors.As(err, &refused):
		return nil, refused.Status, err
	case errors.Is(err, ErrMalformed):
		return nil, http.StatusBadRequest, err
	case err != nil:
		return nil, http.StatusServiceUnavailable, err
	case reply == nil:
		return nil, http.StatusAccepted, nil
	}
	if err := valid(*reply); err != nil {
		// The handler's fault and not the caller's: never 400.
		return nil, http.StatusInternalServerError, fmt.Errorf("encode reply: %w", err)
	}
	return reply, http.StatusOK, nil
}

// Recover turns a panic of h into an error that counts as Again, so that one bad event
// doesn't end a process that serves others.
func Recover(h Handler) Handler {
	return func(ctx context.Context, e event.Event) (reply *event.Event, err error) {
		defer func() {
			if v := recover(); v != nil {
				reply, err = nil, &panicked{value: v, stack: debug.Stack()}
			}
		}()
		return h(ctx, e)
	}
}

func logFailure(ctx context.Context, log *slog.Logger, status int, err error) {
	log = log.With(Stack(err)...)
	if status == http.StatusInternalServerError {
		log.ErrorContext(ctx, "event failed", "status", status, "error", err)
		return
	}
	log.WarnContext(ctx, "event failed", "status", status, "error", err)
}

// Stack returns the place of a handler's panic, as a log line's arguments; nothing for
// every other error.
func Stack(err error) []any {
	var p *panicked
	if !errors.As(err, &p) {
		return nil
	}
	return []any{"stack", string(p.stack)}
}

// outward is the error text for the caller. A broker copies it into the dead letter, which
// must not contain the inner text of a failed call.
func outward(status int, err error) string {
	var refused *Refused
	switch {
	case status == http.StatusBadRequest || errors.As(err, &refused):
		return err.Error()
	case status == http.StatusInternalServerError:
		return "handler failed"
	}
	return ErrAgain.Error()
}

// longestRefusal is in bytes. Knative's dispatcher (0.48.1) panics over a refusal of more than 768
// bytes when it writes that into a dead letter.
const longestRefusal = 512

func refuse(w http.ResponseWriter, status int, line string) {
	http.Error(w, clip.To(longestRefusal, strings.Join(strings.Fields(line), " ")), status)
}
