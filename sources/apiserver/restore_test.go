package apiserver

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
	"github.com/nodefence/nodefence/sources/apiserver/outbox/outboxtest"
)

// restore takes everything back to what it was at that resourceVersion: here, to no
// node at all. Watches break, as they do when an API server ends.
func (f *fakeAPI) restore(rv int) {
	f.mu.Lock()
	f.rv, f.objects, f.past = rv, map[string]map[string]any{}, map[string][]line{}
	f.store(ledgerURL, &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName}})
	f.mu.Unlock()
	f.cutWatches("")
}

func (f *fakeAPI) told() []api.Restored {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.restores)
}

// TestARestoreIsToldAndWatchedAnew: the restore is written into the ledger, once, and later
// changes are seen, although their resourceVersions are lower than those watched (S16).
func TestARestoreIsToldAndWatchedAnew(t *testing.T) {
	f := newFakeAPI(t)
	f.rv = 1000
	f.set(nodesURL, nodeIn("a", "True", 0))
	s, b := start(t, f, 20*time.Millisecond)
	eventually(t, func() bool { return s.Ready() == nil })
	// A watch that has delivered a change continues where it broke off, and does not list
	// again.
	f.set(nodesURL, nodeIn("a", "False", 1))
	b.Until(t, func(e event.Event) bool { return e.Type() == events.NodeUnhealthy })
	f.restore(500)
	eventually(t, func() bool { return len(f.told()) > 0 })
	f.set(nodesURL, nodeIn("b", "False", 1))
	b.Until(t, func(e event.Event) bool { return strings.Contains(e.ID(), "node-b") })
	eventually(t, func() bool { return s.Ready() == nil })
	want := []api.Restored{{To: "501"}}
	if d := cmp.Diff(want, f.told(), cmpopts.IgnoreFields(api.Restored{}, "SeenAt", "From")); d != "" || !strings.HasPrefix(f.told()[0].From, "10") {
		t.Error(d, f.told())
	}
}

// TestAnAPIServerThatIsAwayIsNotRestored: no answer is no evidence.
func TestAnAPIServerThatIsAwayIsNotRestored(t *testing.T) {
	f := newFakeAPI(t)
	s, _ := start(t, f, 20*time.Millisecond)
	eventually(t, func() bool { return s.Ready() == nil })
	f.setAway(true)
	f.cutWatches("")
	l, err := s.o.Client.Ledger(t.Context())
	if err == nil || s.tellRestore(t.Context()) {
		t.Fatalf("told: %v, %v", l, err)
	}
	f.setAway(false)
	f.set(nodesURL, nodeIn("b", "False", 1))
	eventually(t, func() bool { l, err = s.o.Client.Ledger(t.Context()); return err == nil })
	if got := f.told(); len(got) > 0 || l.Status.Restored != nil {
		t.Errorf("told: %v, %v", got, l.Status.Restored)
	}
}

// TestNoPictureIsDrawnIntoARestoredLedger before the restore is written into it: others act
// on a present picture, and a process that has just started knows of the restore from the
// ledger alone (S16).
func TestNoPictureIsDrawnIntoARestoredLedger(t *testing.T) {
	f := newFakeAPI(t)
	f.rv = 1000
	now := t0
	s, err := New(Options{Config: &rest.Config{Host: f.url}, Client: f.client(), Sender: outboxtest.NewBroker(), Logger: quiet(), Source: "c"})
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return now }
	s.leases.Begin(t0)
	s.leases.Resume(now)
	f.set(ledgerURL, &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName}})
	s.draw(t.Context())
	if n := len(f.pictures); n != 1 {
		t.Fatalf("%d pictures before", n)
	}
	f.restore(500)
	now = now.Add(leases.Heartbeat)
	s.draw(t.Context())
	if n := len(f.pictures); n != 1 {
		t.Errorf("%d pictures, one of them of after a restore that nobody has told of", n)
	}
	if !s.tellRestore(t.Context()) {
		t.Error("the restore is not told either")
	}
}
