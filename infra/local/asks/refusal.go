package asks

import (
	"context"
	"net/http"
	"sync"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// Reporter tells the sender of an event too why the event is refused.
func Reporter(r report.Reporter) report.Reporter { return telling{r} }

type telling struct{ report.Reporter }

func (t telling) Refused(ctx context.Context, r report.Refusal) {
	t.Reporter.Refused(ctx, r)
	if h, is := ctx.Value(heardKey{}).(*heard); is {
		h.noteRefusal(r)
	}
}

type heardKey struct{}

// heard has the refusal of a context's event, if any.
type heard struct {
	mu      sync.Mutex
	refusal *report.Refusal
}

// hearRefusal returns a context whose refusal is heard.
func hearRefusal(ctx context.Context) (context.Context, *heard) {
	h := &heard{}
	return context.WithValue(ctx, heardKey{}, h), h
}

func (h *heard) noteRefusal(r report.Refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusal = &r
}

// asError is the answer to the sender; nil if the event is served, now or before.
func (h *heard) asError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refusal == nil || h.refusal.Reason == api.RequestServedAlready {
		return nil
	}
	return &run.Refused{Status: statusOf(h.refusal.Reason), Words: string(h.refusal.Reason) + ": " + h.refusal.Message}
}

// statusOf is the HTTP status for a reason. A sender that repeats after each status but these, as Knative's do, does not
// repeat after them.
func statusOf(r api.Reason) int {
	switch r {
	case api.TokenRefused:
		return http.StatusUnauthorized
	case api.NotAllowed:
		return http.StatusForbidden
	case api.NoSuchNode, api.NoPolicy:
		return http.StatusUnprocessableEntity
	}
	return http.StatusConflict
}
