package binding

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device/job"
)

// given notes how long a pod may act.
type given struct{ limit time.Duration }

func (g *given) Run(_ context.Context, c job.Call) (job.End, error) {
	g.limit = c.Limit
	return job.End{Code: 0, Said: `{"action":"off"}`}, nil
}

// TestAPodActsNoLongerThanItsBindingIsWaitedFor: who bound it may have been set to shorter calls
// than who calls it, and the fence waits for what was bound (S8).
func TestAPodActsNoLongerThanItsBindingIsWaitedFor(t *testing.T) {
	delays := map[time.Duration]time.Duration{}
	for _, call := range []time.Duration{0, 20 * time.Second, time.Minute} {
		k, err := Resolver{AgentsDir: pduDir(t), DeviceCall: call}.inJobs("fence_pdu", 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		delays[call] = k.EffectDelay
	}
	if delays[0] != delays[20*time.Second] || delays[time.Minute] != delays[0]+40*time.Second {
		t.Errorf("effect delays %v: each second that a call may take longer is one that its effect may come later", delays)
	}
	for name, tc := range map[string]struct{ bound, calls, want time.Duration }{
		"both usual":               {0, 0, 20 * time.Second},
		"both a minute":            {time.Minute, time.Minute, time.Minute},
		"bound by a usual process": {0, time.Minute, 20 * time.Second},
		"called by a usual one":    {time.Minute, 0, 20 * time.Second},
	} {
		r := &given{}
		b := Resolver{AgentsDir: pduDir(t), DeviceCall: tc.calls, JobImages: []string{"i"}}
		d, err := b.open(t.Context(), &api.Binding{
			Driver: job.Name, Params: map[string]string{job.AgentName: "fence_pdu", job.Image: "i", "ip": "10.0.0.9", "plug": "7", "community": "c"},
			EffectDelay: metav1.Duration{Duration: delays[tc.bound]},
		}, r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := d.Off(t.Context()); err != nil || r.limit != tc.want {
			t.Errorf("%s: a pod has %s, %v; want %s", name, r.limit, err, tc.want)
		}
	}
}
