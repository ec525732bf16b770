package functions

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/infra/knative"
	"github.com/nodefence/nodefence/infra/local/broker"
)

// TestTriggersAndOwnersAgree: the Triggers route each event to the function that
// owns it, and to no other.
func TestTriggersAndOwnersAgree(t *testing.T) {
	triggers, err := broker.Parse("triggers.yaml", knative.Triggers)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range events.Types() {
		e := event.New()
		e.SetType(typ)
		e.SetID("1")
		e.SetSource("/x")
		to := ""
		for i := range triggers {
			if triggers[i].Matches(e) {
				to += triggers[i].Function
			}
		}
		if to != Owner(typ) {
			t.Errorf("%s is routed to %q and owned by %q", typ, to, Owner(typ))
		}
	}
}

func TestEveryFunctionHasAPlaceInTheTable(t *testing.T) {
	owning := map[string]bool{}
	for _, typ := range append(events.Types(), events.Ping, events.Scheduled) {
		owning[Owner(typ)] = true
	}
	delete(owning, "") // some events go to nobody
	for name := range owning {
		if table[name] == nil {
			t.Errorf("%s owns events and can't be made", name)
		}
	}
	for name := range table {
		if !owning[name] && name != "deadletter" { // which takes what anybody gave up
			t.Errorf("%s can be made and owns nothing", name)
		}
	}
}

// TestAReportedProblemIsAcknowledgedAndNothingElse has an API server that is not
// to be asked anything.
func TestAReportedProblemIsAcknowledgedAndNothingElse(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s %s", r.Method, r.URL) }))
	defer api.Close()
	var log strings.Builder
	reg := prometheus.NewRegistry()
	p, err := NewParts(t.Context(), Settings{Cluster: "c"}, &rest.Config{Host: api.URL}, slog.New(slog.NewTextHandler(&log, nil)), reg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Handler(p)
	if err != nil {
		t.Fatal(err)
	}
	e := p.Source.Problem(events.ProblemReport{Node: "a", NodeUID: "1", Report: "2", Component: "kernel-monitor", Reason: "TaskHung", Count: 3}, time.Now())
	if reply, err := h(t.Context(), e); reply != nil || err != nil {
		t.Errorf("got %v, %v", reply, err)
	}
	want := "msg=ignored function=gate event=2.3 type=io.nodefence.node.problem.v1 node=a reason=NotInPolicies\n"
	if !strings.HasSuffix(log.String(), want) {
		t.Errorf("got %q, want %q", log.String(), want)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			if c := m.GetCounter().GetValue(); c > 0 {
				counted[name] = c
			}
		}
	}
	wantCounted := map[string]float64{"nodefence_events_ignored_total gate NotInPolicies io.nodefence.node.problem.v1": 1}
	if d := cmp.Diff(wantCounted, counted); d != "" {
		t.Error(d)
	}
}

func TestAnUnknownFunctionIsRefused(t *testing.T) {
	_, err := Handler(Parts{Settings: Settings{Function: "powr"}})
	if err == nil || err.Error() != "NODEFENCE_FUNCTION=powr: no such function, there are cleanup, deadletter, gate, isolate, power, recover, waker" {
		t.Error(err)
	}
}

func TestTheWakerNeedsSomewhereToSend(t *testing.T) {
	_, err := Handler(Parts{Settings: Settings{Function: "waker"}})
	if err == nil || err.Error() != "NODEFENCE_FUNCTION=waker has nowhere to send to: set K_SINK to the broker's URL" {
		t.Error(err)
	}
	p, err := NewParts(context.Background(), Settings{Cluster: "c"}, &rest.Config{}, slog.Default(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if all := Handlers(p); all["waker"] != nil || len(all) != len(table)-1 {
		t.Errorf("without a sender there are %d functions, the waker among them: %v", len(all), all["waker"] != nil)
	}
}
