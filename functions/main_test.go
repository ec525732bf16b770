package functions

import (
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

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
	for name := range owners {
		if table[name] == nil {
			t.Errorf("%s owns phases and can't be made", name)
		}
	}
	for name := range table {
		if owners[name] == nil {
			t.Errorf("%s can be made and owns nothing", name)
		}
	}
}

func TestAnUnknownFunctionIsRefused(t *testing.T) {
	_, err := Handler(Parts{Settings: Settings{Function: "powr"}})
	if err == nil || err.Error() != "NODEFENCE_FUNCTION=powr: no such function, there are cleanup, gate, isolate, power, recover" {
		t.Error(err)
	}
}
