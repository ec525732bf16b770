package requests

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

// countReports refuses a report until its source has sent as many as the rule wants. Each report is stored as a
// Kubernetes Event, named after the CloudEvent, so that an event that comes twice counts once. The Events count
// by the API server's times (S18, S30).
func (j *Judge) countReports(ctx context.Context, e event.Event, n *corev1.Node, f *api.NodeFence, want nodeproblem.Rule) (*no, error) {
	if want.Count <= 1 {
		return nil, nil
	}
	series := seriesOf(e)
	name := "nodefence-" + series + "." + shortHash(n.Name+"\x00"+e.ID())
	if err := j.Client.ReportOnce(ctx, n, function, name, string(api.Reported), series, "reported by event "+e.ID()+" of "+e.Source()); err != nil {
		return nil, err
	}
	all, err := j.Client.NodeEvents(ctx, n.Name)
	if err != nil {
		return nil, err
	}
	since := nodeproblem.Lately(f, want.Within, j.Client.Clock().Now())
	times := int32(0)
	for i := range all {
		ev := &all[i]
		if ev.Reason == string(api.Reported) && ev.ReportingInstance == series && ev.InvolvedObject.UID == n.UID && ev.CreationTimestamp.After(since) {
			times++
		}
	}
	if times < want.Count {
		return &no{api.Reported, fmt.Sprintf("report %d of the %d within %s that %s wants of %s", times, want.Count, want.Within, want, e.Source())}, nil
	}
	return nil, nil
}

// seriesOf names the series of reports that an event belongs to.
func seriesOf(e event.Event) string { return "report-" + shortHash(e.Source()+"\x00"+e.Type()) }

// shortHash returns 16 hex digits of a hash.
func shortHash(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16] }
