package apiserver

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
	"github.com/nodefence/nodefence/sources/apiserver/outbox/outboxtest"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func sec(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func nodeIn(name, ready string, since float64, marks ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name)}}
	n.Status.NodeInfo.SystemUUID = "machine-" + name
	n.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionStatus(ready), Reason: "Why", LastTransitionTime: metav1.NewTime(sec(since)),
	}}
	for _, m := range marks {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: api.IsolationTaint, Value: m, Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

// leaseIn renews each quarter of a second times quarters.
func leaseIn(name string, renewed float64, quarters int32) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: leaseNamespace},
		Spec:       coordinationv1.LeaseSpec{RenewTime: leases.Stamp(sec(renewed)), LeaseDurationSeconds: &quarters},
	}
}

// fenceOf is an open fence of node a, in one version.
func fenceOf(rv string, change ...func(*api.NodeFence)) *api.NodeFence {
	f := &api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "fence-a", ResourceVersion: rv, Generation: 1},
		Spec:       api.NodeFenceSpec{NodeName: "a"},
		Status:     api.NodeFenceStatus{Decision: api.Decision{NodeUID: "node-a"}, FenceNumber: 1, Phase: api.Fencing},
	}
	for _, c := range change {
		c(f)
	}
	return f
}

// start runs a source until the test ends.
func start(t *testing.T, f *fakeAPI, resync time.Duration) (*Source, *outboxtest.Broker) {
	t.Helper()
	return startWith(t, f, Options{Resync: resync})
}

func startWith(t *testing.T, f *fakeAPI, o Options) (*Source, *outboxtest.Broker) {
	t.Helper()
	b := outboxtest.NewBroker()
	o.Config, o.Client, o.Sender, o.Logger = &rest.Config{Host: f.url}, f.client(), b, quiet()
	o.Source, o.Namespace, o.Identity = events.SourceOf("c"), "ns", "me"
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(); err == nil {
		t.Error("ready before it runs")
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	t.Cleanup(func() { cancel(); f.cutWatches(""); <-done })
	return s, b
}

func (f *fakeAPI) picture(t *testing.T, want func(api.LeasePicture) bool) api.LeasePicture {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case p := <-f.pictures:
			if want(p) {
				return p
			}
		case <-limit:
			t.Fatal("no such picture was kept")
		}
	}
}

// eventually waits for what comes without an event; the limit only ends a
// broken test.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatal("it never came")
		}
	}
}

func TestFromTheFailureOfANodeToTheEndOfItsFence(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	f.set(nodesURL, nodeIn("b", "False", 1))
	s, b := start(t, f, time.Hour)
	source := events.SourceOf("c")
	want := func(what string, e event.Event) {
		t.Helper()
		if got := b.Next(t); got.ID() != e.ID() || got.Type() != e.Type() {
			t.Fatalf("%s: got %s %s, want %s %s", what, got.Type(), got.ID(), e.Type(), e.ID())
		}
	}
	change := func(node, status string, since float64) event.Event {
		return source.Condition(events.ConditionChange{Node: node, NodeUID: "node-" + node, Condition: "Ready",
			Status: status, Since: sec(since), Unhealthy: status != "True"}, time.Time{}, t0)
	}
	want("what is unhealthy at start", change("b", "False", 1))
	f.set(nodesURL, nodeIn("a", "Unknown", 2))
	want("a node fails", change("a", "Unknown", 2))

	open := fenceOf("")
	f.set(fencesURL, open)
	got := b.Next(t)
	if got.Type() != events.OfPhase(api.Fencing) || !strings.HasPrefix(got.ID(), "fence-a.1.Fencing.") {
		t.Fatalf("a fence without a next check: got %s %s", got.Type(), got.ID())
	}
	recovering := fenceOf("", func(f *api.NodeFence) {
		later := api.Time{Time: time.Now().Add(time.Hour)}
		f.Status.Phase, f.Status.Transitions, f.Status.NextLook = api.Recovering, 9, &later
	})
	f.set(fencesURL, recovering)
	// Two watches have no order between them: only once the fence is known does the node's change wake it.
	// The watch of fences may still be handling the fence then. It wakes the fence too if it finds the node Ready.
	eventually(t, func() bool { return s.due.Fence("a").Status.Transitions == 9 })
	f.set(nodesURL, nodeIn("a", "True", 8))
	missing := []string{change("a", "True", 8).ID(), source.Phase(recovering, sec(8).Add(time.Microsecond), t0).ID()}
	for len(missing) > 0 {
		id := b.Next(t).ID()
		if i := slices.Index(missing, id); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		} else if !strings.HasPrefix(id, "fence-a.1.Recovering.9.") {
			t.Fatalf("a fenced node is Ready: got %s, want %v", id, missing)
		}
	}
	if err := s.Ready(); err != nil {
		t.Error(err)
	}
	eventually(t, func() bool { return f.enrolled("fence-enrolled-a") != nil })
	if f.enrolled("fence-enrolled-b") != nil {
		t.Error("a node that is not Ready was enrolled (S11)")
	}
}

func TestResyncSaysAgainWhatIsUnhealthyMarkedOrDue(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "Unknown", 1, "fence-a"))            // fenced, and the mark is its fence's
	f.set(nodesURL, nodeIn("b", "Unknown", 1))                       // nobody's yet
	f.set(nodesURL, nodeIn("c", "True", 1, "fence-of-another-time")) // left behind (S22)
	f.set(fencesURL, fenceOf(""))
	_, b := start(t, f, 50*time.Millisecond)
	again := func(prefix, typ string) func(event.Event) bool {
		return func(e event.Event) bool {
			if e.Subject() == "a" && (e.Type() == events.NodeMarked || strings.Contains(e.ID(), ".r")) {
				t.Errorf("a fenced node is not sent for: %s %s", e.Type(), e.ID())
			}
			return strings.HasPrefix(e.ID(), prefix) && e.Type() == typ
		}
	}
	ids := map[string]bool{}
	for range 30 { // two ticks that a busy machine makes at once say the same
		if len(ids) >= 9 {
			return
		}
		ids[b.Until(t, again("node-b.Ready.Unknown."+"1767323046000000.r", events.NodeUnhealthy)).ID()] = true
		ids[b.Until(t, again("node-c.marked.fence-of-another-time.r", events.NodeMarked)).ID()] = true
		ids[b.Until(t, again("fence-a.1.Fencing.0.", events.OfPhase(api.Fencing))).ID()] = true
	}
	t.Errorf("a wake-up would be swallowed as a duplicate (S19): %v", ids)
}

func TestALeaseThatStandsStillIsInTheLedger(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	f.set(leasesURL, leaseIn("a", 0, 1))
	f.set(leasesURL, leaseIn("ghost", 0, 1))
	start(t, f, time.Hour)
	p := f.picture(t, func(p api.LeasePicture) bool { return len(p.Still) == 1 && p.Still[0].Stale })
	if p.Total != 1 || p.Still[0].NodeName != "a" || p.Renewal.Duration != 250*time.Millisecond {
		t.Errorf("got %+v", p)
	}
	f.set(leasesURL, leaseIn("a", 1, 1000))
	f.picture(t, func(p api.LeasePicture) bool { return len(p.Still) == 0 })
}

func TestWhileNobodyWatchesThePictureGrowsOldAndThenBeginsAnew(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	f.set(leasesURL, leaseIn("a", 0, 1))
	s, _ := start(t, f, time.Hour)
	first := f.picture(t, func(api.LeasePicture) bool { return true })
	f.setAway(true)
	f.cutWatches("")
	eventually(t, func() bool { return !s.leases.Look(nil, s.now()).Watched })
	s.leases.Kept(api.LeasePicture{}) // even where none was ever kept
	broken := s.now().Add(-brokenTooLong)
	s.leases.Resume(s.now())
	s.leases.Pause(broken)
	// The server's clock is known to half a second at first, and may go back by it.
	s.standing.mu.Lock()
	s.standing.locked(kubeletLeases).broken = broken.Add(-time.Second)
	s.standing.mu.Unlock()
	if p, keep := s.toKeep(true); keep {
		t.Errorf("it would keep a picture that nobody has seen (S15): %+v", p)
	}
	if err := s.Ready(); err == nil || err.Error() != "not watched at present: [leases]" {
		t.Errorf("ready without a watch: %v", err)
	}
	f.setAway(false)
	f.picture(t, func(p api.LeasePicture) bool { return p.Since.After(first.Since.Time) })
	if err := s.Ready(); err != nil {
		t.Error(err)
	}
}
