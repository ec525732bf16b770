package run

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// Result returns h for a server of the CloudEvents SDK, such as the one that Knative's func
// builds. The returned error carries the status and the line that HTTP answers. A missing
// reply is an error of this kind too, 202, because the SDK would answer 200.
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
