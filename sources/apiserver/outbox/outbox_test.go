package outbox

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/outbox/outboxtest"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func conditionOf(since float64) event.Event {
	at := t0.Add(time.Duration(since * float64(time.Second)))
	return events.SourceOf("c").Condition(events.ConditionChange{
		Node: "a", NodeUID: "1", Condition: "Ready", Status: "Unknown", Reason: "Why", Since: at, Unhealthy: true,
	}, time.Time{}, t0)
}

// drain takes everything out of the queue that can be sent now.
func drain(o *Outbox) {
	for o.queue.Len() > 0 {
		o.SendNext(context.Background())
	}
}

func TestOutbox(t *testing.T) {
	a, b := conditionOf(1), conditionOf(2)
	for name, c := range map[string]struct {
		letters []Letter
		want    []string
	}{
		"each is sent once":                       {[]Letter{{Event: a}, {Event: b}}, []string{a.ID(), b.ID()}},
		"the same one twice is one":               {[]Letter{{Event: a}, {Event: a}}, []string{a.ID()}},
		"one that was overtaken is not sent":      {[]Letter{{Event: a, Stale: func() bool { return true }}, {Event: b}}, []string{b.ID()}},
		"of two wake-ups of a thing the newer":    {[]Letter{{Event: a, About: "x"}, {Event: b, About: "x"}}, []string{b.ID()}},
		"wake-ups of two things are both sent":    {[]Letter{{Event: a, About: "x"}, {Event: b, About: "y"}}, []string{a.ID(), b.ID()}},
		"a transition is not replaced by another": {[]Letter{{Event: a}, {Event: b}}, []string{a.ID(), b.ID()}},
	} {
		t.Run(name, func(t *testing.T) {
			br := outboxtest.NewBroker()
			o := New(br, quiet())
			for _, l := range c.letters {
				o.Put(l)
			}
			drain(o)
			if d := cmp.Diff(c.want, br.IDs()); d != "" {
				t.Error(d)
			}
			if len(o.pending) != 0 || len(o.newest) != 0 {
				t.Errorf("left over: %v %v", o.pending, o.newest)
			}
		})
	}
}

func TestAFailedSendIsTriedUntilTheBrokerHasIt(t *testing.T) {
	br, fails := outboxtest.NewBroker(), 3
	br.Answer = func(event.Event) error {
		if fails--; fails >= 0 {
			return errors.New("away")
		}
		return nil
	}
	o := New(br, quiet())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); o.Run(ctx) }()
	want := conditionOf(1)
	o.Put(Letter{Event: want})
	if got := br.Next(t); got.ID() != want.ID() {
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
func values(t *testing.T, o *Outbox) map[string]float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(o.Metrics()...)
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
	o := New(outboxtest.NewBroker(), slog.New(slog.NewTextHandler(&log, nil)))
	fence := &api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "fence-a"}, Spec: api.NodeFenceSpec{NodeName: "a"},
		Status: api.NodeFenceStatus{Decision: api.Decision{NodeUID: "node-a"}, FenceNumber: 1, Phase: api.Fencing},
	}
	e := events.SourceOf("c").Phase(fence, t0, t0)
	o.Put(Letter{Event: e})
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
		o := New(b, quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { o.Run(ctx); close(done) }()
		for i := range 25 {
			o.Put(Letter{Event: conditionOf(float64(i))})
		}
		synctest.Wait()
		b.through.Store(true)
		healthy, asked := conditionOf(100), time.Now()
		o.Put(Letter{Event: healthy})
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

// TestTheQueueIsThatOfWhoSends: where nobody sends any more, nothing waits to be sent, whatever is
// left over or still on its way.
func TestTheQueueIsThatOfWhoSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := outboxtest.NewBroker()
		let := make(chan struct{})
		b.Answer = func(event.Event) error { <-let; return errors.New("away") }
		o := New(b, quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { o.Run(ctx); close(done) }()
		o.Put(Letter{Event: conditionOf(1)})
		synctest.Wait()
		length := func() float64 { return values(t, o)["nodefence_source_queue"] }
		if n := length(); n != 1 {
			t.Errorf("%v events wait", n)
		}
		stop()
		synctest.Wait()
		if n := length(); n != 0 {
			t.Errorf("%v events wait while the last is on its way", n)
		}
		close(let)
		<-done
		o.Put(Letter{Event: conditionOf(2)})
		if n := length(); n != 0 {
			t.Errorf("%v events wait where nobody sends", n)
		}
	})
}

// TestABrokerThatIsFullHoldsUpNoEnd: a test may take no more events, and ends what sends them all the same.
func TestABrokerThatIsFullHoldsUpNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(outboxtest.NewBroker(), quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { o.Run(ctx); close(done) }()
		for i := range 101 {
			o.Put(Letter{Event: conditionOf(float64(i))})
		}
		synctest.Wait()
		if n := len(o.Waiting()); n != 1 {
			t.Errorf("%d events wait, want one", n)
		}
		stop()
		<-done
	})
}

// TestTooManyOfAKindGiveWay to the newest ones: whoever invents reports fills no memory while the broker
// is away, and no other event gives way.
func TestTooManyOfAKindGiveWay(t *testing.T) {
	o := New(outboxtest.NewBroker(), quiet())
	other := conditionOf(0)
	o.Put(Letter{Event: other})
	var ids []string
	for i := range mostAmong + 3 {
		e := conditionOf(float64(i + 1))
		ids = append(ids, e.ID())
		o.Put(Letter{Event: e, About: e.ID(), Among: "problems/a"})
		o.Put(Letter{Event: e, About: e.ID(), Among: "problems/a"}) // the same once more
	}
	var got []string
	for _, l := range o.Waiting() {
		got = append(got, l.Event.ID())
	}
	want := append([]string{other.ID()}, ids[3:]...)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, id := range got {
		o.done(o.pending[id])
	}
	if n := len(o.Waiting()) + len(o.among) + len(o.newest); n > 0 {
		t.Errorf("%d are left", n)
	}
}
