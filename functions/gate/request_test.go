package gate

import (
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestARequestIsAnsweredOnce: a fence answers to whatever was asked while it was open,
// also when a broker brings that a second time after its end (S7, S18).
func TestARequestIsAnsweredOnce(t *testing.T) {
	g, _ := server(t, nil)
	now := g.Client.Clock().Now()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}
	policies := []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{
		Requests: api.PolicyRequests{Trusted: []api.TrustedSource{{Source: "/racks/west", Type: events.RequestFence}}},
	}}}
	since := func(ago time.Duration) *api.Time { m := metav1.NewMicroTime(now.Add(-ago)); return &m }
	fence := func(phase api.Phase, ago time.Duration) *api.NodeFence {
		return &api.NodeFence{Spec: api.NodeFenceSpec{Generation: 1}, Status: api.NodeFenceStatus{Generation: 1, Phase: phase, PhaseSince: since(ago)}}
	}
	for name, c := range map[string]struct {
		fence *api.NodeFence
		sent  time.Duration // ago
		want  api.Reason
	}{
		"of a node that never had a fence": {nil, time.Minute, ""},
		"while one is open":                {fence(api.Fencing, time.Minute), time.Second, api.RequestMerged},
		"sent before the last one ended":   {fence(api.Finished, time.Minute), 2 * time.Minute, api.RequestMerged},
		"sent after the last one ended":    {fence(api.Finished, 2*time.Minute), time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := event.New()
			e.SetType(events.RequestFence)
			e.SetSource("/racks/west")
			e.SetID("1")
			e.SetSubject("a")
			e.SetTime(now.Add(-c.sent))
			trigger, refused, err := g.judge(t.Context(), e, n, policies, c.fence)
			if err != nil {
				t.Fatal(err)
			}
			var got api.Reason
			if refused != nil {
				got = refused.why
			}
			if got != c.want || (trigger == nil) != (c.want != "") {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
