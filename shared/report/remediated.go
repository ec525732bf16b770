package report

import (
	"context"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/kube"
)

// longestWords is what an Event takes of a message.
const longestWords = 1000

// Remediated reports what became of a FenceRequest: a log line, and an Event on the object in the
// words of medik8s' remediators. It is told after the status was written. So nothing is told twice;
// if the process dies in between, that Event is never posted, and the conditions have it all.
func (p *Publisher) Remediated(ctx context.Context, r Remediation) {
	o, news := r.Request, ask.NewsOf(&r.Before, &r.Request.Status)
	p.Log.Info("wrote the status of a FenceRequest", "function", r.Function, "namespace", o.Namespace, "name", o.Name, "ended", ask.Ended(o))
	if news == nil {
		return
	}
	p.post(ctx, kube.Event{
		Namespace: o.Namespace, Kind: "FenceRequest", APIVersion: api.GroupVersion.String(), Name: o.Name, UID: o.UID,
		Topic: "remediation", Warning: news.Warning, Reason: news.Reason, Message: clip.To(longestWords, news.Message), Reporter: r.Function,
	})
}
