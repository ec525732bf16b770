package broker

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/shared/run"
)

func TestAnEventIsStoredOnceBySourceAndID(t *testing.T) {
	var j journal
	handlers := map[string]run.Handler{"gate": func(_ context.Context, e event.Event) (*event.Event, error) {
		j.note(e.Source(), e.ID())
		return nil, nil
	}}
	o := Options{Dir: t.TempDir(), Triggers: parse(t, one("gate", "")), Handlers: handlers}
	other := makeEvent("test.gate", "1")
	other.SetSource("/other")
	again := makeEvent("test.gate", "1")
	again.SetSubject("node-8")
	b := start(t, o)
	publish(t, b, makeEvent("test.gate", "1"), makeEvent("test.gate", "1"), again, other, makeEvent("test.gate", "2\n\"3"))
	settled(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = start(t, o)
	publish(t, b, makeEvent("test.gate", "1"), makeEvent("test.gate", "4"))
	settled(t, b)
	seen := map[string]int{}
	for _, line := range j.all() {
		seen[line]++
	}
	if d := cmp.Diff(map[string]int{"/test 1": 1, "/other 1": 1, "/test 2\n\"3": 1, "/test 4": 1}, seen); d != "" {
		t.Error(d)
	}
	if events, err := b.Events(t.Context()); err != nil || len(events) != 4 {
		t.Errorf("%d events in the record (%v), want 4", len(events), err)
	}
}

func TestEventsComeOutAsTheyWentIn(t *testing.T) {
	b := start(t, Options{Triggers: parse(t, one("gate", "")), Handlers: map[string]run.Handler{"gate": nothing}})
	e := makeEvent("test.gate", "1")
	e.SetExtension("attempt", 3)
	if err := e.SetData("application/json", map[string]any{"phase": "Fencing"}); err != nil {
		t.Fatal(err)
	}
	publish(t, b, e)
	events, err := b.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{e.String()}, []string{events[0].String()}); d != "" {
		t.Error(d)
	}
}

func TestIngress(t *testing.T) {
	var j journal
	b := start(t, Options{Triggers: parse(t, one("gate", "")), Handlers: map[string]run.Handler{
		"gate": func(_ context.Context, e event.Event) (*event.Event, error) {
			j.note(e.ID(), string(e.Data()))
			return nil, nil
		},
	}})
	h := b.Ingress(b.o.Logger)
	post := func(id, body string) (int, string) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		for k, v := range map[string]string{"Content-Type": "text/plain", "Ce-Specversion": "1.0", "Ce-Type": "test.gate", "Ce-Source": "/test", "Ce-Id": id} {
			if v != "" {
				r.Header.Set(k, v)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		id, body string
		status   int
		answer   string
	}{
		{"1", "hello", 202, ""},
		{"", "hello", 400, "ce-id missing\n"},
		{"2", strings.Repeat("\x00", run.MaxBody+1), 413, "body longer than 1048576 bytes\n"},
	} {
		if status, answer := post(c.id, c.body); status != c.status || answer != c.answer {
			t.Errorf("got %d %q, want %d %q", status, answer, c.status, c.answer)
		}
	}
	settled(t, b)
	if status, answer := post("3", strings.Repeat("\x01", run.MaxBody)); status != 202 {
		t.Errorf("the longest body: %d %s", status, answer)
	}
	if d := cmp.Diff([]string{"1 hello"}, j.all()[:1]); d != "" {
		t.Error(d)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if status, answer := post("4", "late"); status != 503 {
		t.Errorf("after close: %d %s", status, answer)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	b := start(t, Options{Metrics: registry, Triggers: parse(t, one("gate", "")), Handlers: map[string]run.Handler{
		"gate": func(context.Context, event.Event) (*event.Event, error) { return nil, run.ErrMalformed }}})
	publish(t, b, makeEvent("test.gate", "1"), makeEvent("test.gate", "1"))
	if err := b.Publish(t.Context(), event.New()); !errors.Is(err, run.ErrMalformed) {
		t.Errorf("empty event: %v", err)
	}
	settled(t, b)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{"nodefence_broker_published_total stored": 1, "nodefence_broker_published_total duplicate": 1,
		"nodefence_broker_published_total malformed": 1, "nodefence_broker_deliveries_total malformed nodefence-gate": 1,
		"nodefence_broker_dead_letters_total nodefence-gate": 1, "nodefence_broker_handler_seconds nodefence-gate": 0}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
