package run

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// Result is h for a server that is the CloudEvents SDK's own, such as Knative's
// func builds: the error that it returns carries the status and the line that
// HTTP answers. An event without a reply is one too, 202, because the SDK would
// answer 200.
func Result(h Handler, log *slog.Logger) Handler {
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		reply, status, err := call(ctx, h, e)
		switch {
		case err != nil:
			logFailure(ctx, log.With("event", e.ID(), "type", e.Type(), "node", e.Subject()), status, err)
			return nil, cehttp.NewResult(status, "%s", outward(status, err))
		case reply == nil:
			return nil, cehttp.NewResult(http.StatusAccepted, "")
		}
		return reply, nil
	}
}
