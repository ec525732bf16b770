package adopt

import (
	"context"
	"fmt"

	"github.com/nodefence/nodefence/shared/adopt/far"
	"github.com/nodefence/nodefence/shared/kube"
)

// hold adds the finalizer to an object, or removes it. Fence Agents Remediation has webhooks for its
// objects, without whose answer the API server refuses each change. If they outlive the program, neither
// is a fence asked for nor does an object go: the object says so in an Event, and the error in the log.
func (a *Adopter) hold(ctx context.Context, o *far.Object, node string, hold bool) (*far.Object, error) {
	is, err := a.Objects.HoldFAR(ctx, o, node, hold)
	webhook := kube.SilentWebhook(err)
	if webhook == "" {
		return is, err
	}
	e := far.Unchangeable(webhook, hold)
	if err := a.Objects.TellFAR(ctx, far.Kind, &o.ObjectMeta, e, Name); err != nil {
		a.Log.Warn("an Event could not be written", "function", Name, "namespace", o.Namespace, "name", o.Name, "error", err.Error())
	}
	return nil, fmt.Errorf("%s: %w", e.Message, err)
}
