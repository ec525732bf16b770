package functions

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/infra/knative"
	"github.com/nodefence/nodefence/infra/local/broker"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
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

// TestATypeAlmostOursGoesToDeadletter alone, and none that is ours or another's does.
func TestATypeAlmostOursGoesToDeadletter(t *testing.T) {
	triggers, err := broker.Parse("triggers.yaml", knative.Triggers)
	if err != nil {
		t.Fatal(err)
	}
	for typ, want := range map[string]string{
		"io.nodefence.request.fenc.v1":   "deadletter",
		"io.nodefence.request.fence":     "deadletter",
		"io.nodefense.request.fence.v1":  "deadletter",
		"io.nodefence.node.unhealthy.v2": "deadletter",
		events.Scheduled:                 "",
		events.Ping:                      "",
		"com.example.rack.overheated":    "",
		"io.node.other.v1":               "",
	} {
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
		if to != want {
			t.Errorf("%s goes to %q, want %q", typ, to, want)
		}
	}
}

func TestEveryFunctionHasAPlaceInTheTable(t *testing.T) {
	owning := map[string]bool{}
	for _, typ := range events.Types() {
		owning[Owner(typ)] = true
	}
	for name := range table {
		if Takes(name, events.Ping) {
			owning[name] = true
		}
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

// TestAProblemThatNoPolicyNames is looked up and passed by: nothing is written.
func TestAProblemThatNoPolicyNames(t *testing.T) {
	answers := map[string]string{
		"/api/v1/nodes/a": `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a","uid":"1"}}`,
		"/apis/nodefence.io/v1alpha1/fencepolicies":        `{"kind":"FencePolicyList","apiVersion":"nodefence.io/v1alpha1","items":[]}`,
		"/apis/nodefence.io/v1alpha1/fenceledgers/cluster": `{"kind":"FenceLedger","apiVersion":"nodefence.io/v1alpha1","metadata":{"name":"cluster","resourceVersion":"1"}}`,
		"/apis/nodefence.io/v1alpha1/nodeproblempolicies":  `{"kind":"NodeProblemPolicyList","apiVersion":"nodefence.io/v1alpha1","items":[]}`,
	}
	api := kubetest.Serve(t, kubetest.Table(answers, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s %s", r.Method, r.URL)
	}))
	var log strings.Builder
	p, err := NewParts(t.Context(), Settings{Cluster: "c", Self: NoNode}, api, slog.New(slog.NewTextHandler(&log, nil)), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	served, err := Serve(p)
	if err != nil {
		t.Fatal(err)
	}
	e := p.Source.Problem(events.ProblemReport{Node: "a", NodeUID: "1", Report: "2", Component: "kernel-monitor", Reason: "TaskHung", Count: 3}, time.Now())
	if reply, err := served.Handle(t.Context(), e); reply != nil || err != nil {
		t.Errorf("got %v, %v", reply, err)
	}
	want := "msg=ignored function=gate node=a event=2.3 type=io.nodefence.node.problem.v1 reason=NotInPolicies\n"
	if !strings.HasSuffix(log.String(), want) {
		t.Errorf("got %q, want %q", log.String(), want)
	}
}

func TestAnUnknownFunctionIsRefused(t *testing.T) {
	_, err := Serve(Parts{Settings: Settings{Function: "powr"}})
	if err == nil || err.Error() != "NODEFENCE_FUNCTION=powr: no such function, there are adopt, cleanup, deadletter, gate, isolate, policystatus, power, recover, request, resync" {
		t.Error(err)
	}
}

func TestResyncNeedsSomewhereToSend(t *testing.T) {
	_, err := Serve(Parts{Settings: Settings{Function: "resync"}})
	if err == nil || err.Error() != "NODEFENCE_FUNCTION=resync needs a place to send events: set K_SINK to the broker's URL" {
		t.Error(err)
	}
	p, err := NewParts(context.Background(), Settings{Cluster: "c"}, &rest.Config{}, slog.Default(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if all := Handlers(p); all["resync"] != nil || len(all) != len(table)-2 { // adopt is left out where nothing is adopted
		t.Errorf("without a sender there are %d functions, resync among them: %v", len(all), all["resync"] != nil)
	}
}
