package loop

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// lively is a world whose node lives, and whose gate lets it drain. Each answer takes so long.
type lively struct {
	*world
	takes []time.Duration
}

func (w *lively) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	err := w.world.Look(ctx, f, seen, notBefore)
	seen.Node.Conditions[0].Status, seen.Lease = "True", observed.Lease{Exists: true, Renewed: w.now.String(), Renewal: 10 * time.Second}
	return err
}

func (w *lively) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (Result, error) {
	if a == fence.AskDrain && len(w.takes) > 0 {
		w.now, w.takes = w.now.Add(w.takes[0]), w.takes[1:]
	}
	r, err := w.world.Act(ctx, f, a, seen)
	r.Resolved = a == fence.Resolve
	return r, err
}

// TestAYesToADrainGrowsOld: it is asked for again, as a reservation is (S17).
func TestAYesToADrainGrowsOld(t *testing.T) {
	for name, c := range map[string]struct {
		takes []time.Duration
		want  string
	}{
		"at once":                {nil, "GLS(Resolve)L(AskDrain)LS"},
		"as old as a yes may be": {[]time.Duration{facts.DecisionValidity}, "GLS(Resolve)L(AskDrain)LS"},
		"older":                  {[]time.Duration{facts.DecisionValidity + time.Second}, "GLS(Resolve)L(AskDrain)LS(AskDrain)LS"},
	} {
		w := &lively{newWorld(api.Pending), c.takes}
		st := &w.record.Status
		at := metav1.NewMicroTime(w.now)
		st.DecidedAt, st.Lease = nil, api.LeaseRecord{Renewed: "r", StillSince: &at}
		st.Decision.Trigger = api.Trigger{Type: api.TriggerRequest}
		st.Decision.AskedBy = []api.AskedBy{{ID: "1", Source: "/me", Type: "t", JoinedAt: at}}
		st.Decision.Settings.Drain = api.DrainSettings{Timeout: metav1.Duration{Duration: 5 * time.Minute}}
		l := w.loop(&RecordCache{}, api.Pending)
		l.Does = w
		if _, err := l.Run(t.Context(), "n", event.New(), 0); err != nil {
			t.Error(name, err)
		}
		if d := cmp.Diff(c.want, w.asked.String()); d != "" || w.record.Status.Phase != api.Draining {
			t.Errorf("%s: %s %s (%s) %s", name, w.record.Status.Phase, w.record.Status.Reason, w.record.Status.Message, d)
		}
	}
}
