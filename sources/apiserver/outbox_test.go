package apiserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/events"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// broker is a Sender that answers what answer says and tells what it has.
type broker struct {
	answer func(e event.Event) error
	has    chan event.Event
}

func (b *broker) Send(_ context.Context, e event.Event) error {
	if b.answer != nil {
		if err := b.answer(e); err != nil {
			return err
		}
	}
	b.has <- e
	return nil
}

func newBroker() *broker { return &broker{has: make(chan event.Event, 100)} }

// next waits for the next event; the limit is only there to end a broken test.
func (b *broker) next(t *testing.T) event.Event {
	t.Helper()
	select {
	case e := <-b.has:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event came")
		return event.Event{}
	}
}

func conditionOf(since float64) event.Event {
	return events.SourceOf("c").Condition(changed("Ready", "Unknown", since, true), time.Time{}, t0)
}

// drain takes everything out of the queue that can be sent now.
func drain(o *outbox) {
	for o.queue.Len() > 0 {
		o.sendNext(context.Background())
	}
}

func (b *broker) ids() []string {
	var all []string
	for len(b.has) > 0 {
		all = append(all, (<-b.has).ID())
	}
	return all
}

func TestOutbox(t *testing.T) {
	a, b := conditionOf(1), conditionOf(2)
	for name, c := range map[string]struct {
		letters []letter
		want    []string
	}{
		"each is sent once":                       {[]letter{{event: a}, {event: b}}, []string{a.ID(), b.ID()}},
		"the same one twice is one":               {[]letter{{event: a}, {event: a}}, []string{a.ID()}},
		"one that was overtaken is not sent":      {[]letter{{event: a, stale: func() bool { return true }}, {event: b}}, []string{b.ID()}},
		"of two wake-ups of a thing the newer":    {[]letter{{event: a, about: "x"}, {event: b, about: "x"}}, []string{b.ID()}},
		"wake-ups of two things are both sent":    {[]letter{{event: a, about: "x"}, {event: b, about: "y"}}, []string{a.ID(), b.ID()}},
		"a transition is not replaced by another": {[]letter{{event: a}, {event: b}}, []string{a.ID(), b.ID()}},
	} {
		t.Run(name, func(t *testing.T) {
			br := newBroker()
			o := newOutbox(br, quiet())
			for _, l := range c.letters {
				o.put(l)
			}
			drain(o)
			if d := cmp.Diff(c.want, br.ids()); d != "" {
				t.Error(d)
			}
			if len(o.pending) != 0 || len(o.newest) != 0 {
				t.Errorf("left over: %v %v", o.pending, o.newest)
			}
		})
	}
}

func TestAFailedSendIsTriedUntilTheBrokerHasIt(t *testing.T) {
	br, fails := newBroker(), 3
	br.answer = func(event.Event) error {
		if fails--; fails >= 0 {
			return errors.New("away")
		}
		return nil
	}
	o := newOutbox(br, quiet())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); o.run(ctx) }()
	want := conditionOf(1)
	o.put(letter{event: want})
	if got := br.next(t); got.ID() != want.ID() {
		t.Errorf("got %s", got.ID())
	}
	cancel()
	<-done
	counted := map[string]float64{"nodefence_source_events_total": 1, "nodefence_source_send_failures_total": 3, "nodefence_source_queue": 0}
	if d := cmp.Diff(counted, values(t, o)); d != "" {
		t.Error(d)
	}
}

// values are the outbox's metrics, by name.
func values(t *testing.T, o *outbox) map[string]float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(o.sent, o.failed, o.length)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			all[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return all
}

func TestALogLineTellsTheEventTheNodeAndTheFence(t *testing.T) {
	var log strings.Builder
	o := newOutbox(newBroker(), slog.New(slog.NewTextHandler(&log, nil)))
	e := events.SourceOf("c").Phase(fenceOf("1"), t0, t0)
	o.put(letter{event: e})
	drain(o)
	want := "msg=sent type=io.nodefence.fence.fencing.v1 node=a event=" + e.ID() + " fence=fence-a\n"
	if !strings.HasSuffix(log.String(), want) {
		t.Errorf("got %s want %s", log.String(), want)
	}
}

// TestDevicesThatHangHoldUpNoOtherEvent: over a synchronous channel, each such device holds
// up the event that led to its call.
func TestDevicesThatHangHoldUpNoOtherEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &hangs{has: make(chan string, 1)}
		o := newOutbox(b, quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { o.run(ctx); close(done) }()
		for i := range 25 {
			o.put(letter{event: conditionOf(float64(i))})
		}
		synctest.Wait()
		b.through.Store(true)
		healthy, asked := conditionOf(100), time.Now()
		o.put(letter{event: healthy})
		if got := <-b.has; got != healthy.ID() || time.Since(asked) > 0 {
			t.Errorf("sent %s after %s, want %s at once", got, time.Since(asked), healthy.ID())
		}
		stop()
		<-done
	})
}

// hangs says nothing to a sender until its time is over, but lets one event through.
type hangs struct {
	through atomic.Bool
	has     chan string
}

func (h *hangs) Send(ctx context.Context, e event.Event) error {
	if h.through.Load() {
		h.has <- e.ID()
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}
