package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/run"
)

// archive is a Trigger for a subscriber outside of the process.
func archive(name, subscriber string) string {
	return fmt.Sprintf(`apiVersion: eventing.knative.dev/v1
kind: Trigger
metadata: {name: %s}
spec:
  broker: nodefence
  filters:
    - exact: {type: test.gate}
  subscriber:
    %s
---
`, name, subscriber)
}

// TestSubscribersOutsideHaveAURI, which is checked when the file is read.
func TestSubscribersOutsideHaveAURI(t *testing.T) {
	for subscriber, want := range map[string]string{
		"uri: http://10.0.0.7:8080/fences":                    "",
		"uri: https://archive.example":                        "",
		"uri: ftp://archive.example":                          "9: spec.subscriber.uri: is not an http or https URL",
		"uri: mailto:ops@archive.example":                     "9: spec.subscriber.uri: is not an http or https URL",
		"uri: http://me:secret@archive.example":               "9: spec.subscriber.uri: holds a user or a password, which would be shown in logs",
		"ref: {apiVersion: v1, kind: Service, name: archive}": "9: spec.subscriber.ref: not resolved here: write the address of the subscriber into uri",
	} {
		triggers, err := ParseOutward("mine.yaml", []byte(archive("archive", subscriber)))
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), "mine.yaml:"+want) {
				t.Errorf("%s: %v, want %s", subscriber, err, want)
			}
			continue
		}
		if err != nil || len(triggers) != 1 || "uri: "+triggers[0].URI != subscriber || triggers[0].Function != "" {
			t.Errorf("%s: %+v, %v", subscriber, triggers, err)
		}
	}
}

// TestASubscriberOutsideGetsWhatPasses, beside the function that the same event goes to. What it can't take is given up
// after the Trigger's tries, and held up no function.
func TestASubscriberOutsideGetsWhatPasses(t *testing.T) {
	var j journal
	var g graves
	outward, err := ParseOutward("mine.yaml", []byte(archive("takes", "uri: http://10.0.0.7")+archive("refuses", "uri: http://10.0.0.8")))
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, Options{
		Triggers: append(parse(t, one("gate", "")+one("power", "")), outward...),
		Handlers: map[string]run.Handler{"gate": nothing, "power": nothing},
		Outward: map[string]run.Handler{
			"takes":   func(_ context.Context, e event.Event) (*event.Event, error) { j.note(e.ID()); return nil, nil },
			"refuses": func(context.Context, event.Event) (*event.Event, error) { return nil, errors.New("503") },
		},
		OnDeadLetter: g.dig,
	})
	publish(t, b, makeEvent("test.power", "1"))
	publish(t, b, makeEvent("test.gate", "2"))
	settled(t, b)
	if d := cmp.Diff([]string{"2", "2 refuses 503"}, append(j.all(), g.all()...)); d != "" {
		t.Error(d)
	}
}

// TestEachTriggerHasAHandlerAndANameOfItsOwn: JetStream knows where a Trigger stands by its name.
func TestEachTriggerHasAHandlerAndANameOfItsOwn(t *testing.T) {
	outward, err := ParseOutward("mine.yaml", []byte(archive("nodefence-gate", "uri: http://10.0.0.7")+archive("archive", "uri: http://10.0.0.7")))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: t.TempDir(), Triggers: append(parse(t, one("gate", "")), outward...), Handlers: map[string]run.Handler{"gate": nothing},
		Outward: map[string]run.Handler{"nodefence-gate": nothing}}
	_, err = Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), `mine.yaml:9: metadata.name: "nodefence-gate" is the name of another Trigger too`) || !strings.Contains(err.Error(), "mine.yaml:19: spec.subscriber.uri: nothing carries events to http://10.0.0.7") {
		t.Error(err)
	}
}
