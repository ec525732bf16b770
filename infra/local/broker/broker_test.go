package broker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/run"
)

func TestAFenceGoesThroughItsChain(t *testing.T) {
	var j journal
	b := start(t, Options{Triggers: parse(t, clusterTriggers(t)), Handlers: chain(&j)})
	publish(t, b, makeEvent("io.nodefence.node.unhealthy.v1", "1"))
	settled(t, b)
	want := []string{"gate node.unhealthy", "isolate fence.isolating", "power fence.fencing",
		"cleanup fence.releasing", "power fence.poweringon", "recover fence.recovering"}
	if d := cmp.Diff(want, j.all()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"1", "1/isolating", "1/fencing", "1/releasing", "1/poweringon", "1/recovering", "1/finished"},
		suffixed(t, b)); d != "" {
		t.Errorf("record: %s", d)
	}
}

// suffixed is the record by IDs, each shortened to its first and last part.
func suffixed(t *testing.T, b *Broker) []string {
	t.Helper()
	events, err := b.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range events {
		parts := strings.Split(e.ID(), "/")
		ids = append(ids, strings.Join(append(parts[:1:1], parts[len(parts)-1:][:min(len(parts)-1, 1)]...), "/"))
	}
	return ids
}

func TestTheChainStopsWhereAFilterIsEdited(t *testing.T) {
	order := []string{"gate node.unhealthy", "isolate fence.isolating", "power fence.fencing",
		"cleanup fence.releasing", "power fence.poweringon", "recover fence.recovering"}
	for i, step := range order {
		t.Run(step, func(t *testing.T) {
			var j journal
			typ := "type: io.nodefence." + strings.Fields(step)[1] + ".v1"
			text := clusterTriggers(t)
			if strings.Count(text, typ) != 2 { // and deadletter's, which takes what is not of it
				t.Fatalf("%d filters on %s", strings.Count(text, typ), typ)
			}
			b := start(t, Options{Triggers: parse(t, strings.Replace(text, typ, typ+"x", 1)), Handlers: chain(&j), NoSync: true})
			publish(t, b, makeEvent("io.nodefence.node.unhealthy.v1", "1"))
			settled(t, b)
			if d := cmp.Diff(order[:i], j.all()); d != "" {
				t.Error(d)
			}
		})
	}
}

// graves collects what OnDeadLetter is told.
type graves struct{ journal }

func (g *graves) dig(e event.Event, trigger string, err error) {
	g.note(e.ID(), trigger, err.Error())
}

func TestFailuresAreRepeatedAsOftenAsTheTriggerSaysAndThenDead(t *testing.T) {
	var j journal
	var g graves
	b := start(t, Options{
		Triggers: parse(t, one("gate", "retry: 3, backoffPolicy: exponential, backoffDelay: PT0.1S")+one("power", "")),
		Handlers: map[string]run.Handler{
			"gate": func(_ context.Context, e event.Event) (*event.Event, error) {
				j.note(e.ID())
				switch e.ID() {
				case "never":
					return nil, errors.New("device does not answer")
				case "panic":
					panic("oops")
				case "third":
					if len(j.all()) < 3 {
						return nil, run.ErrAgain
					}
				}
				return nil, nil
			},
			"power": func(context.Context, event.Event) (*event.Event, error) { return nil, run.ErrAgain },
		},
		OnDeadLetter: g.dig,
	})
	for _, c := range []struct {
		typ, id string
		calls   int
		graves  []string
	}{
		{"gate", "third", 3, []string{}},
		{"gate", "never", 4, []string{"never nodefence-gate device does not answer"}},
		{"gate", "panic", 4, []string{"panic nodefence-gate handler panicked: oops"}},
		{"power", "no retry", 0, []string{"no retry nodefence-power try again"}},
	} {
		j.lines, g.lines = nil, nil
		publish(t, b, makeEvent("test."+c.typ, c.id))
		settled(t, b)
		if d := cmp.Diff(c.graves, g.all()); d != "" || len(j.all()) != c.calls {
			t.Errorf("%s: %d calls, dead letters %s", c.id, len(j.all()), d)
		}
	}
	letters, err := b.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range letters {
		got = append(got, fmt.Sprint(l.Event.ID(), "|", l.Trigger, "|", l.Error, "|", l.Tries))
	}
	want := []string{"never|nodefence-gate|device does not answer|4", "panic|nodefence-gate|handler panicked: oops|4",
		"no retry|nodefence-power|try again|1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMalformedGoesToTheDeadAtOnce(t *testing.T) {
	var j journal
	var g graves
	b := start(t, Options{
		Triggers: parse(t, one("gate", "retry: 3, backoffPolicy: exponential, backoffDelay: PT10S")),
		Handlers: map[string]run.Handler{"gate": func(_ context.Context, e event.Event) (*event.Event, error) {
			j.note(e.ID())
			return nil, fmt.Errorf("read payload: %w", run.ErrMalformed)
		}},
		OnDeadLetter: g.dig,
	})
	publish(t, b, makeEvent("test.gate", "1"))
	settled(t, b)
	if d := cmp.Diff([]string{"1", "1 nodefence-gate read payload: malformed event"}, append(j.all(), g.all()...)); d != "" {
		t.Error(d)
	}
}

func TestOneTriggersFailureIsNotAnothers(t *testing.T) {
	var j journal
	b := start(t, Options{
		Triggers: parse(t, one("gate", "")+strings.ReplaceAll(one("power", ""), "test.power", "test.gate")),
		Handlers: map[string]run.Handler{
			"gate":  func(context.Context, event.Event) (*event.Event, error) { return nil, run.ErrMalformed },
			"power": func(_ context.Context, e event.Event) (*event.Event, error) { j.note(e.ID()); return nil, nil },
		},
	})
	publish(t, b, makeEvent("test.gate", "1"))
	settled(t, b)
	if d := cmp.Diff([]string{"1"}, j.all()); d != "" {
		t.Error(d)
	}
}

func nothing(context.Context, event.Event) (*event.Event, error) { return nil, nil }

func TestAReplyLoopEnds(t *testing.T) {
	var g graves
	b := start(t, Options{
		Triggers: parse(t, one("gate", "")),
		Handlers: map[string]run.Handler{"gate": func(_ context.Context, e event.Event) (*event.Event, error) {
			e.SetID(e.ID() + "x")
			return &e, nil
		}},
		OnDeadLetter: g.dig, NoSync: true,
	})
	publish(t, b, makeEvent("test.gate", "x"))
	settled(t, b)
	if lines := g.all(); len(lines) != 1 || !strings.HasSuffix(lines[0], "reply loop: 255 replies") {
		t.Errorf("dead letters: %v", lines)
	}
}

func TestABadReplyIsNotTheEventsFault(t *testing.T) {
	var g graves
	b := start(t, Options{
		Triggers: parse(t, one("gate", "retry: 1")),
		Handlers: map[string]run.Handler{"gate": func(context.Context, event.Event) (*event.Event, error) {
			return &event.Event{}, nil
		}},
		OnDeadLetter: g.dig,
	})
	publish(t, b, makeEvent("test.gate", "1"))
	settled(t, b)
	letters, err := b.DeadLetters(t.Context())
	if err != nil || len(letters) != 1 || letters[0].Tries != 2 {
		t.Errorf("dead letters: %+v, %v; want one after 2 tries", letters, err)
	}
}

func TestNodesAreHandledInParallelUpToTheBound(t *testing.T) {
	const bound, all = 16, 80
	var mu sync.Mutex
	running, most := 0, 0
	arrived, release := make(chan struct{}, all), make(chan struct{})
	b := start(t, Options{
		Triggers: parse(t, one("gate", "")), NoSync: true,
		Handlers: map[string]run.Handler{"gate": func(context.Context, event.Event) (*event.Event, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			arrived <- struct{}{}
			<-release
			mu.Lock()
			running--
			mu.Unlock()
			return nil, nil
		}},
	})
	for i := range all {
		publish(t, b, makeEvent("test.gate", fmt.Sprint(i)))
	}
	for range bound { // as many run at the same time, with the others waiting
		<-arrived
	}
	close(release)
	settled(t, b)
	if most != bound || len(arrived) != all-bound {
		t.Errorf("%d at once and %d in all, want %d and %d", most, len(arrived)+bound, bound, all)
	}
}

func TestNothingRunsAfterClose(t *testing.T) {
	o := Options{Triggers: parse(t, clusterTriggers(t)), Handlers: chain(&journal{}), NoSync: true}
	start(t, o).close(t) // whatever libraries start once and keep
	before := runtime.NumGoroutine()
	for range 3 {
		b := start(t, o)
		publish(t, b, makeEvent("io.nodefence.node.unhealthy.v1", "1"))
		settled(t, b)
		b.close(t)
	}
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
}

func (b *Broker) close(t *testing.T) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
