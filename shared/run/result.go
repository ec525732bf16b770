package run

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// Result returns h for a server of the CloudEvents SDK, such as the one that Knative's func
// builds. An invocation may take so long, whether its caller waits or not. The returned error carries
// the status and the line that HTTP answers. A missing reply is an error of this kind too, 202,
// because the SDK would answer 200.
func Result(h Handler, invocation time.Duration, log *slog.Logger) Handler {
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		reply, status, err := call(ctx, invocation, h, e)
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
