package resync

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type records struct {
	all []api.NodeFence
	err error
}

func (r records) Fences(context.Context) ([]api.NodeFence, error) { return r.all, r.err }

// broker takes the events of all nodes but one. What it got is sorted.
type broker struct {
	refuses string

	mu  sync.Mutex
	got []string
}

func (b *broker) Send(_ context.Context, e event.Event) error {
	if e.Subject() == b.refuses {
		return errors.New("no room")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, e.Subject()+" "+e.Type())
	slices.Sort(b.got)
	return nil
}

// record is a fence in a phase, due so long ago; no due time if never.
func record(node string, p api.Phase, ago time.Duration) api.NodeFence {
	f := api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("uid-" + node)},
		Spec:       api.NodeFenceSpec{NodeName: node},
		Status:     api.NodeFenceStatus{FenceNumber: 1, Phase: p},
	}
	if ago != never {
		at := metav1.NewMicroTime(now.Add(-ago))
		f.Status.NextLook = &at
	}
	return f
}

// TestWhoKeepsOthersAway from its node: what acts, and what has left something there.
func TestWhoKeepsOthersAway(t *testing.T) {
	cut := func(f *api.NodeFence) { f.Status.Power.SwitchedByUs = true }
	marked := func(f *api.NodeFence) { f.Status.Placed.Taint = true }
	for name, c := range map[string]struct {
		phase       api.Phase
		change      func(*api.NodeFence)
		keeps, acts bool
	}{
		"waits at the gate":                  {phase: api.Pending},
		"waits at the gate, isolated":        {phase: api.Pending, change: marked, keeps: true},
		"waits at the gate, cut before":      {phase: api.Pending, change: cut, keeps: true},
		"isolates":                           {phase: api.Isolating, keeps: true, acts: true},
		"makes sure":                         {phase: api.Fencing, change: marked, keeps: true, acts: true},
		"stays off":                          {phase: api.Fenced, change: cut, keeps: true, acts: true},
		"recovers, and gives the Lease back": {phase: api.Recovering, change: cut, keeps: true},
		"was given up, and nothing was cut":  {phase: api.Failed, change: marked},
		"was given up after power was cut":   {phase: api.Failed, change: cut, keeps: true, acts: true},
		"is over":                            {phase: api.Finished, change: cut},
	} {
		f := record("a", c.phase, never)
		if c.change != nil {
			c.change(&f)
		}
		if keeps, acts := keepsAway(&f); keeps != c.keeps || acts != c.acts {
			t.Errorf("%s: keeps %t, acts %t", name, keeps, acts)
		}
	}
}

const never = time.Duration(-1 << 62)

func TestResync(t *testing.T) {
	fencing, pending := events.OfPhase(api.Fencing), events.OfPhase(api.Pending)
	for name, c := range map[string]struct {
		records records
		refuses string
		got     []string
		err     string
	}{
		"nothing is open":            {},
		"overdue for half a resync":  {records: records{all: []api.NodeFence{record("a", api.Fencing, facts.Resync/2)}}, got: []string{"a " + fencing}},
		"overdue, but not for long":  {records: records{all: []api.NodeFence{record("a", api.Fencing, facts.Resync/2-time.Second)}}},
		"not due yet":                {records: records{all: []api.NodeFence{record("a", api.Fencing, -time.Minute)}}},
		"no due time means now":      {records: records{all: []api.NodeFence{record("a", api.Pending, never)}}, got: []string{"a " + pending}},
		"finished is not waited for": {records: records{all: []api.NodeFence{record("a", api.Finished, time.Hour)}}},
		"several, of which one is refused": {
			records: records{all: []api.NodeFence{record("a", api.Fencing, time.Hour), record("b", api.Fencing, time.Hour), record("c", api.Pending, time.Hour)}},
			refuses: "b", got: []string{"a " + fencing, "c " + pending}, err: "wake the fence of b: no room"},
		"the API server is away": {records: records{err: errors.New("no answer")}, err: "look for overdue fences: no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &broker{refuses: c.refuses}
			w := &Resyncer{Fences: c.records, Source: events.SourceOf("c"), Sender: b, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
			reply, err := w.Handle(context.Background(), event.New())
			if d := cmp.Diff(c.got, b.got); d != "" || reply != nil {
				t.Errorf("reply %v\n%s", reply, d)
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.err {
				t.Errorf("got %q, want %q", got, c.err)
			}
		})
	}
}

// TestEachTickIsAnotherEvent: a broker that drops duplicates must not swallow
// the second wake-up (S19).
func TestEachTickIsAnotherEvent(t *testing.T) {
	var ids []string
	at := now
	w := &Resyncer{
		Fences: records{all: []api.NodeFence{record("a", api.Fencing, time.Hour)}}, Source: events.SourceOf("c"),
		Sender: sent(func(e event.Event) { ids = append(ids, e.ID()) }), Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler),
	}
	for _, d := range []time.Duration{0, time.Millisecond, facts.Resync} {
		at = now.Add(d)
		if err := w.Resync(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] != ids[1] || ids[1] == ids[2] {
		t.Error(ids)
	}
}

type sent func(event.Event)

func (s sent) Send(_ context.Context, e event.Event) error { s(e); return nil }

func TestWhatIsSentAgainIsSaid(t *testing.T) {
	var log bytes.Buffer
	w := &Resyncer{
		Fences: records{all: []api.NodeFence{record("a", api.Fencing, time.Hour)}}, Sender: &broker{},
		Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	if err := w.Resync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := `msg="overdue, owner called" function=resync node=a fence=uid-a phase=Fencing` + "\n"; !strings.HasSuffix(log.String(), want) {
		t.Errorf("got %s want %s", log.String(), want)
	}
}
