package broker

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/run"
)

const clusterFile = "../../knative/base/triggers.yaml"

func clusterTriggers(t *testing.T) string { return read(t, clusterFile) }

// fixture has five Triggers whose lines the tests know.
func fixture(t *testing.T) string { return read(t, "testdata/triggers.yaml") }

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// one is a file with one Trigger, for the type test.<function>.
func one(function, delivery string) string {
	return fmt.Sprintf(`apiVersion: eventing.knative.dev/v1
kind: Trigger
metadata:
  name: nodefence-%[1]s
spec:
  broker: nodefence
  filters:
    - exact: {type: test.%[1]s}
  subscriber:
    ref: {apiVersion: serving.knative.dev/v1, kind: Service, name: nodefence-%[1]s}
  delivery: {%[2]s}
---
`, function, delivery)
}

func parse(t *testing.T, text string) []Trigger {
	t.Helper()
	triggers, err := Parse("triggers.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return triggers
}

// start runs a broker until the test ends. A restart of the same test passes
// the same Dir.
func start(t *testing.T, o Options) *Broker {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func makeEvent(typ, id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("/test")
	e.SetType(typ)
	e.SetSubject("node-7")
	e.SetExtension("partitionkey", "node-7")
	return e
}

func publish(t *testing.T, b *Broker, es ...event.Event) {
	t.Helper()
	for _, e := range es {
		if err := b.Publish(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// eventually waits for a condition that has no channel of its own.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-limit:
			t.Fatalf("never came: %s", what)
		case <-tick.C:
		}
	}
}

// settled waits until every Trigger is done with every event.
func settled(t *testing.T, b *Broker) {
	t.Helper()
	eventually(t, "all events acknowledged by all triggers", func() bool {
		s, err := b.events.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last := s.State.LastSeq
		for i := range b.o.Triggers {
			c, err := b.events.Consumer(t.Context(), b.o.Triggers[i].durable())
			if err != nil {
				t.Fatal(err)
			}
			if i := c.CachedInfo(); i.AckFloor.Stream < last || i.NumAckPending > 0 || i.NumPending > 0 {
				return false
			}
		}
		// A reply is stored before its cause is acknowledged, but consumers hear
		// of it a little later: look whether one has come meanwhile.
		now, err := b.events.Info(t.Context())
		return err == nil && now.State.LastSeq == last
	})
}

// journal notes what handlers see, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(parts ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, strings.Join(parts, " "))
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string{}, j.lines...)
}

// chain makes every function answer with the next phase of a fence that goes well.
func chain(j *journal) map[string]run.Handler {
	next := map[string]string{
		"gate node.unhealthy":      "isolating",
		"isolate fence.isolating":  "fencing",
		"power fence.fencing":      "releasing",
		"cleanup fence.releasing":  "poweringon",
		"power fence.poweringon":   "recovering",
		"recover fence.recovering": "finished",
	}
	handlers := map[string]run.Handler{}
	for _, f := range []string{"gate", "isolate", "power", "cleanup", "recover", "request", "deadletter"} {
		handlers[f] = func(_ context.Context, e event.Event) (*event.Event, error) {
			short := strings.TrimSuffix(strings.TrimPrefix(e.Type(), "io.nodefence."), ".v1")
			j.note(f, short)
			phase, ok := next[f+" "+short]
			if !ok {
				return nil, nil
			}
			reply := makeEvent("io.nodefence.fence."+phase+".v1", e.ID()+"/"+phase)
			return &reply, nil
		}
	}
	return handlers
}
