package resync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// TestWakeUpsAreBounded: at each tick the fence of node a is late by the given time, and
// the call about it ends with the given result.
func TestWakeUpsAreBounded(t *testing.T) {
	type tick struct {
		after, late time.Duration
		fails       bool
		want        int
	}
	for name, ticks := range map[string][]tick{
		"whoever was woken by us is called as soon as it is due": {
			{late: patience, want: 1}, {after: Tick, late: -time.Second}, {after: 2 * Tick, late: 0, want: 1}},
		"and is left to the source again later": {
			{late: patience, want: 1}, {after: wakes, late: time.Second}, {after: wakes + Tick, late: patience, want: 1}},
		"whoever failed is left alone for a while": {
			{late: patience, fails: true, want: 1}, {after: Tick, late: patience + Tick}, {after: 2 * Tick, late: patience + 2*Tick, want: 1}},
		"but not for one that failed before the clock was set back": {
			{late: patience, fails: true, want: 1}, {after: -time.Hour, late: patience, want: 1}},
		"whoever is due far ahead is called each resync": {
			{late: -time.Hour}, {after: Tick, late: -time.Hour}, {after: 2 * Tick, late: -time.Hour, want: 1}, {after: 3 * Tick, late: -time.Hour}, {after: 4 * Tick, late: -time.Hour, want: 1}},
		"also where the clock was set back since": {
			{late: -time.Hour}, {after: -time.Hour, late: -2 * time.Hour, want: 1}},
		"whoever was due far ahead, and is due now, is left to the source": {
			{late: -time.Minute}, {after: Tick, late: 0}, {after: 2 * Tick, late: patience, want: 1}},
		"also after it was called, as it waited": {
			{late: -time.Hour}, {after: 2 * Tick, late: -time.Hour, want: 1}, {after: 3 * Tick, late: 0}, {after: 5 * Tick, late: patience, want: 1}},
		"whoever failed while it was due far ahead is left alone for a while": {
			{late: -time.Hour}, {after: 2 * Tick, late: -time.Hour, fails: true, want: 1}, {after: 3 * Tick, late: patience}, {after: 4 * Tick, late: patience, want: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			at, calls, fails := now, 0, false
			w := &Resyncer{Source: events.SourceOf("c"), Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
			w.Sender = failing(func() error {
				calls++
				if fails {
					return errors.New("no answer")
				}
				return nil
			})
			for i, c := range ticks {
				at, calls, fails = now.Add(c.after), 0, c.fails
				w.Fences = records{all: []api.NodeFence{record("a", api.Fencing, c.late-c.after)}}
				_ = w.Resync(t.Context())
				if calls != c.want {
					t.Errorf("tick %d: %d calls, want %d", i, calls, c.want)
				}
			}
		})
	}
}

// TestOverdueIsSaidOnce of a fence until it moves, and of none that is due far ahead.
func TestOverdueIsSaidOnce(t *testing.T) {
	at, log := now, strings.Builder{}
	w := &Resyncer{Source: events.SourceOf("c"), Sender: &broker{}, Now: func() time.Time { return at }, Log: slog.New(slog.NewTextHandler(&log, nil))}
	late := func(by time.Duration) api.NodeFence { return record("a", api.Fencing, by) }
	far := late(-time.Hour)
	moved := record("a", api.Releasing, time.Minute)
	other := moved
	other.UID = "another"
	for i, c := range []struct {
		is   api.NodeFence
		want int
	}{
		{far, 0}, {far, 0}, {far, 0}, {far, 0}, {far, 0}, // each is called each resync
		{late(time.Hour), 1}, {late(time.Hour), 1}, {late(time.Hour), 1},
		{late(time.Minute), 2}, {late(time.Minute), 2}, {moved, 3}, {moved, 3},
		{other, 4}, {other, 4}, {record("a", api.Fencing, never), 5}, {record("a", api.Fencing, never), 5},
	} {
		w.Fences = records{all: []api.NodeFence{c.is}}
		if err := w.Resync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), "overdue"); got != c.want {
			t.Errorf("look %d: said %d times, want %d", i, got, c.want)
		}
		at = at.Add(2 * Tick)
	}
	if got := len(w.Sender.(*broker).got); got != 15 {
		t.Errorf("%d calls, want 15", got)
	}
}

type failing func() error

func (f failing) Send(context.Context, event.Event) error { return f() }

// TestACallThatHangsHoldsUpNoOther: nor is its own fence called twice at once (S7: one
// device call at a time).
func TestACallThatHangsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &hanging{node: "a"}
		start := time.Now()
		w := &Resyncer{
			Fences: records{all: []api.NodeFence{record("a", api.Fencing, time.Hour), record("b", api.Fencing, time.Hour)}}, Source: events.SourceOf("c"),
			Sender: b, Now: func() time.Time { return now.Add(time.Since(start)) }, Log: slog.New(slog.DiscardHandler),
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.Run(ctx, Tick); close(done) }()
		time.Sleep(3*Tick + Tick/2)
		synctest.Wait()
		stop()
		<-done // with the call that hung
		fencing := events.OfPhase(api.Fencing)
		if d := cmp.Diff([]string{"a begins", "b " + fencing, "b " + fencing, "b " + fencing, "a ends"}, append(append([]string{"a begins"}, b.got...), "a "+b.end)); d != "" || b.begun != 1 {
			t.Errorf("%d calls about a\n%s", b.begun, d)
		}
	})
}

// TestCallsUnderWayEndByThemselves when resync is told to end, for example because its pod
// ends: the called function's reply would be lost with its caller. No call is started then, and a
// call that hangs is given up.
func TestCallsUnderWayEndByThemselves(t *testing.T) {
	for name, c := range map[string]struct {
		invocation, takes, waits time.Duration
		want                     error
	}{
		"one that takes as long as a device may":      {0, 20 * time.Second, 20 * time.Second, nil},
		"one that hangs":                              {0, time.Hour, 25 * time.Second, context.Canceled},
		"one that takes as long as a slow device may": {100 * time.Second, 60 * time.Second, 60 * time.Second, nil},
		"one that hangs, where devices are slow":      {100 * time.Second, time.Hour, 65 * time.Second, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &taking{d: c.takes}
				start := time.Now()
				w := &Resyncer{
					Fences: records{all: []api.NodeFence{record("a", api.Fencing, time.Hour)}}, Source: events.SourceOf("c"), Invocation: c.invocation,
					Sender: b, Now: func() time.Time { return now.Add(time.Since(start)) }, Log: slog.New(slog.DiscardHandler),
				}
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { w.Run(ctx, Tick); close(done) }()
				time.Sleep(Tick)
				synctest.Wait()
				told := time.Now()
				stop()
				<-done
				if d := cmp.Diff([]error{c.want}, b.ends, cmpopts.EquateErrors()); d != "" {
					t.Error(d)
				}
				if waited := time.Since(told); waited != c.waits {
					t.Errorf("resync ended after %s, want %s", waited, c.waits)
				}
			})
		})
	}
}

// TestNoCallIsBegunAtTheEnd.
func TestNoCallIsBegunAtTheEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	b := &taking{}
	w := &Resyncer{Fences: records{all: []api.NodeFence{record("a", api.Fencing, time.Hour)}}, Source: events.SourceOf("c"), Sender: b, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	r := w.round(ctx)
	if err := errors.Join(r.look(true), r.wait()); err != nil || len(b.ends) > 0 {
		t.Errorf("%d calls: %v", len(b.ends), err)
	}
}

// taking takes its time for each event, unless its caller gives up.
type taking struct {
	d    time.Duration
	ends []error
}

func (k *taking) Send(ctx context.Context, _ event.Event) error {
	select {
	case <-time.After(k.d):
	case <-ctx.Done():
	}
	k.ends = append(k.ends, ctx.Err())
	return ctx.Err()
}

// hanging accepts the events of a node and does not answer until its caller gives up.
type hanging struct {
	broker
	node  string
	begun int
	end   string
}

func (h *hanging) Send(ctx context.Context, e event.Event) error {
	if e.Subject() != h.node {
		return h.broker.Send(ctx, e)
	}
	h.begun++
	<-ctx.Done()
	h.end = "ends"
	return ctx.Err()
}

// TestPlacesAreBounded: more overdue fences than places.
func TestPlacesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []api.NodeFence
		for i := range places + 10 {
			all = append(all, record(fmt.Sprint(i), api.Fencing, time.Hour))
		}
		let, inside := make(chan struct{}), make(chan struct{}, 2*places)
		w := &Resyncer{Fences: records{all: all}, Source: events.SourceOf("c"), Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
		w.Sender = failing(func() error { inside <- struct{}{}; <-let; return nil })
		ended := make(chan error)
		go func() { ended <- w.Resync(t.Context()) }()
		synctest.Wait()
		if n := len(inside); n != places {
			t.Errorf("%d calls at once, want %d", n, places)
		}
		close(let)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestUnreadyNodesAreTold: the source's event about a node may be lost with the broker that
// ran on that node (S19: a lost event costs time only).
func TestUnreadyNodesAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		status corev1.ConditionStatus
		ago    time.Duration
		fences []api.NodeFence
		nobody bool
		want   []string
	}{
		"not Ready for a while":   {status: corev1.ConditionUnknown, ago: time.Hour, want: []string{"b " + events.NodeUnhealthy}},
		"not Ready for moments":   {status: corev1.ConditionFalse, ago: time.Second, want: []string{"b " + events.NodeUnhealthy}},
		"Ready":                   {status: corev1.ConditionTrue, ago: time.Hour},
		"its fence is open":       {status: corev1.ConditionUnknown, ago: time.Hour, fences: []api.NodeFence{record("b", api.Pending, -time.Hour)}},
		"its last fence is over":  {status: corev1.ConditionUnknown, ago: time.Hour, fences: []api.NodeFence{record("b", api.Finished, never)}, want: []string{"b " + events.NodeUnhealthy}},
		"where nobody has policy": {status: corev1.ConditionUnknown, ago: time.Hour, nobody: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &broker{}
			w := &Resyncer{
				Objects: &unready{shown: &shown{}, node: notReady("b", c.status, now.Add(-c.ago)), nobody: c.nobody}, Fences: records{all: c.fences}, Source: events.SourceOf("c"), Sender: b,
				Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
			}
			if err := w.Resync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, b.got); d != "" {
				t.Error(d)
			}
		})
	}
}

// notReady is a node whose condition Ready changed then.
func notReady(name string, ready corev1.ConditionStatus, since time.Time) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(since)}}
	return n
}

type unready struct {
	*shown
	node   corev1.Node
	nobody bool
}

func (u *unready) Nodes(context.Context) ([]corev1.Node, error) { return []corev1.Node{u.node}, nil }
func (u *unready) Policies(ctx context.Context) ([]api.FencePolicy, error) {
	if u.nobody {
		return nil, nil
	}
	return u.shown.Policies(ctx)
}

// TestTheBoundOfResync: S19's resync, with a margin for the look itself.
func TestTheBoundOfResync(t *testing.T) {
	if late := patience + Tick; late >= facts.Resync {
		t.Errorf("an overdue fence is called %s late", late)
	}
	if late := time.Duration(whole) * Tick; late > facts.Resync {
		t.Errorf("a node that is not Ready is told of %s late", late)
	}
}
