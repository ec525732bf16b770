package knative

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
)

// try is a broker of the test's own with three triggers: what arrives as
// `asked` is answered, the answer goes to a second subscriber, and a third
// always fails.
const try = `
apiVersion: v1
kind: Namespace
metadata: {name: try}
---
apiVersion: eventing.knative.dev/v1
kind: Broker
metadata:
  name: b
  namespace: try
  annotations: {eventing.knative.dev/broker.class: MTChannelBasedBroker}
spec:
  config: {apiVersion: v1, kind: ConfigMap, name: config-br-default-channel, namespace: knative-eventing}
  delivery: {retry: 2, backoffPolicy: exponential, backoffDelay: PT0.2S}
`

func trigger(name, eventType string) string {
	return fmt.Sprintf(`---
apiVersion: eventing.knative.dev/v1
kind: Trigger
metadata: {name: %[1]s, namespace: try, labels: {eventing.knative.dev/broker: b}}
spec:
  broker: b
  filter: {}
  filters: [{exact: {type: %[2]s}}]
  subscriber: {ref: {apiVersion: v1, kind: Service, name: %[1]s, namespace: try}}
  delivery:
    retry: 1
    backoffPolicy: exponential
    backoffDelay: PT0.2S
    deadLetterSink: {ref: {apiVersion: v1, kind: Service, name: dead, namespace: try}}
`, name, eventType)
}

// TestKnativeDelivers checks that this installation does what nodefence relies on: an event
// reaches its subscriber, a reply reaches the next one, and an event that every try fails for
// reaches the dead-letter sink.
func TestKnativeDelivers(t *testing.T) {
	w := newWorld(t)
	must(t, w.Apply(w.ctx, try))
	first := newSink(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Ce-Specversion", "1.0")
		rw.Header().Set("Ce-Id", r.Header.Get("Ce-Id")+".answer")
		rw.Header().Set("Ce-Type", "try.answered")
		rw.Header().Set("Ce-Source", "try/first")
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"n":2}`)
	})
	second := newSink(t, nil)
	broken := newSink(t, func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, "not today", http.StatusInternalServerError)
	})
	dead := newSink(t, nil)
	for name, s := range map[string]*sink{"first": first, "second": second, "broken": broken, "dead": dead} {
		must(t, w.Stand(w.ctx, "try", name, s.addr()))
	}
	must(t, w.Apply(w.ctx, trigger("first", "try.asked")+trigger("second", "try.answered")+trigger("broken", "try.doomed")))
	w.ready(brokers, "try", 1)
	w.ready(triggers, "try", 3)

	w.through("try", "b", "try.asked", second)
	w.through("try", "b", "try.doomed", dead)

	for _, e := range []event.Event{
		plain("1", "try.asked", "node-1", `{"n":1}`),
		plain("2", "try.doomed", "", `{}`),
		plain("3", "try.unwanted", "", `{}`),
	} {
		must(t, w.send("try", "b", e))
	}
	w.until("the answer and the dead letter", func() (bool, error) { return second.ids()["1.answer"] > 0 && dead.ids()["2"] > 0, nil })

	for name, tc := range map[string]struct {
		sink *sink
		want map[string]int
	}{
		"the subscriber gets what it asked for":          {first, map[string]int{"1": 1}},
		"the reply goes to the second":                   {second, map[string]int{"1.answer": 1}},
		"one retry, not more":                            {broken, map[string]int{"2": 2}},
		"what failed twice goes to the dead-letter sink": {dead, map[string]int{"2": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, tc.sink.ids()); d != "" {
				t.Error(d)
			}
		})
	}
	if got := first.find("1"); got.Subject != "node-1" || got.Body != `{"n":1}` {
		t.Errorf("the event changed on its way: %+v", got)
	}
	if code := dead.find("2").Header.Get("Ce-Knativeerrorcode"); code != "500" {
		t.Errorf("the dead letter says code %q", code)
	}
	// The function deadletter decodes the answer.
	data := dead.find("2").Header.Get("Ce-Knativeerrordata")
	if said, err := base64.StdEncoding.DecodeString(data); err != nil || strings.TrimSpace(string(said)) != "not today" {
		t.Errorf("the dead letter says data %q, which is %q: %v", data, said, err)
	}
}
