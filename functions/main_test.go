package functions

import (
	"context"
	"log/slog"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
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
