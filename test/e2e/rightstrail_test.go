package e2e

import (
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/functions/policystatus"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// prune has policystatus, as its own account, delete the reports and acts of this test when all of them are too old. The
// newest act of each field stays, so a person stops the cluster and lets it go on first.
func (o *office) prune(tick event.Event) {
	o.t.Helper()
	for _, on := range []bool{true, false} {
		before, err := o.Fences.Acts(o.ctx)
		must(o.t, err)
		o.stop(on)
		o.until("the source to record the act", func() (bool, error) {
			all, err := o.Fences.Acts(o.ctx)
			return len(all) > len(before), err
		})
	}
	client, err := kube.New(o.as(policystatus.Name))
	must(o.t, err)
	later := time.Now().Add(2 * api.ReportsKeptFor).Truncate(time.Hour)
	w := policystatus.Writer{Objects: client, Trail: client, Now: func() time.Time { return later }, Log: o.logger()}
	_, err = w.Handle(o.ctx, tick)
	must(o.t, err)
}
