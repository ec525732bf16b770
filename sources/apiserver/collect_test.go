package apiserver

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/apiserver/outbox/outboxtest"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

const day = 24 * time.Hour

// leftOf is the enrolment of a node that was seen to be gone so long ago; never if 0.
func leftOf(node string, gone time.Duration) *corev1.ConfigMap {
	cm := enrolmentOf("node-"+node, "machine-"+node)
	cm.Name, cm.UID = kube.EnrolledName(node), types.UID("cm-"+node)
	cm.Labels = map[string]string{kube.EnrolledLabel: "true"}
	if gone > 0 {
		cm.Annotations = map[string]string{slim.GoneSince: time.Now().Add(-gone).UTC().Format(time.RFC3339), "theirs": "x"}
	}
	return cm
}

// closedIn is a record that was closed so long ago.
func closedIn(node string, ago time.Duration, change ...func(*api.NodeFence)) *api.NodeFence {
	f := fenceOf("", change...)
	at := metav1.NewMicroTime(time.Now().Add(-ago))
	f.Name, f.Spec.NodeName, f.UID, f.Status.PhaseSince = node, node, types.UID("fence-"+node), &at
	if len(change) == 0 {
		f.Status.Phase = api.Finished
	}
	return f
}

// TestWhatIsLeftOfANodeThatIsGone is deleted once the node has been gone for a week, as
// seen and written down by the source, unless a policy expects it or its fence is open.
func TestWhatIsLeftOfANodeThatIsGone(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("here", "False", 0))
	f.set(nodesURL, nodeIn("back", "False", 0))
	f.set(policiesURL, &api.FencePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       api.FencePolicySpec{MissingNodes: &api.MissingNodesRule{NodeNames: []string{"named"}}},
		Status: api.FencePolicyStatus{
			Missing:        []api.MissingNode{{NodeName: "missing"}},
			FailedMachines: []api.FailedMachine{{MachineRef: api.MachineRef{Namespace: "ns", Name: "failed"}}},
		},
	})
	for node, gone := range map[string]time.Duration{
		"here": 0, "back": 9 * day, "justgone": 0, "young": 6 * day, "old": 8 * day, "named": 8 * day, "missing": 8 * day,
		"failed": 8 * day, "fenced": 8 * day, "odd": 0,
	} {
		f.set(mapsURL, leftOf(node, gone))
	}
	odd := leftOf("odd", day)
	odd.Annotations[slim.GoneSince] = "long ago"
	f.set(mapsURL, odd)
	theirs := leftOf("theirs", 8*day)
	theirs.Labels = nil
	f.set(mapsURL, theirs)
	for _, nf := range []*api.NodeFence{
		closedIn("old", 8*day), closedIn("here", 30*day), closedIn("young", 30*day), closedIn("named", 30*day),
		closedIn("never", 8*day), closedIn("lately", 6*day),
		closedIn("fenced", 8*day, func(*api.NodeFence) {}),
		closedIn("held", 8*day, func(f *api.NodeFence) { f.Status.Phase, f.Finalizers = api.Finished, []string{api.Finalizer} }),
		closedIn("newer", 8*day, func(f *api.NodeFence) { f.Status.Phase, f.Status.MinReaderVersion = api.Finished, api.Schema+1 }),
	} {
		f.set(fencesURL, nf)
	}
	start(t, f, 50*time.Millisecond)
	gone := func(names ...string) func() bool {
		return func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return !slices.ContainsFunc(names, func(n string) bool {
				return f.objects[mapsURL][kube.EnrolledName(n)] != nil || f.objects[fencesURL][n] != nil
			})
		}
	}
	mark := func(node string) string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return annotationsOf(f.objects[mapsURL][kube.EnrolledName(node)])[slim.GoneSince]
	}
	eventually(t, gone("old", "never"))
	eventually(t, func() bool {
		at, err := time.Parse(time.RFC3339, mark("justgone"))
		_, oddly := time.Parse(time.RFC3339, mark("odd"))
		return err == nil && oddly == nil && time.Since(at) < time.Hour && mark("back") == "" && mark("here") == ""
	})
	f.mu.Lock()
	if a := annotationsOf(f.objects[mapsURL][kube.EnrolledName("back")]); a["theirs"] != "x" {
		t.Errorf("annotations of others are %v", a)
	}
	left := [][]string{slices.Sorted(maps.Keys(f.objects[mapsURL])), slices.Sorted(maps.Keys(f.objects[fencesURL]))}
	f.mu.Unlock()
	want := [][]string{nil, {"fenced", "held", "here", "lately", "named", "newer", "young"}}
	for _, n := range []string{"back", "failed", "fenced", "here", "justgone", "missing", "named", "odd", "theirs", "young"} {
		want[0] = append(want[0], kube.EnrolledName(n))
	}
	if d := cmp.Diff(want, left); d != "" {
		t.Error(d)
	}
	f.remove(policiesURL, "p")
	eventually(t, gone("named"))
	f.remove(nodesURL, "here")
	eventually(t, func() bool { return mark("here") != "" })
}

func annotationsOf(obj any) map[string]string {
	m, _ := obj.(map[string]any)
	meta, _ := m["metadata"].(map[string]any)
	all, _ := meta["annotations"].(map[string]any)
	of := map[string]string{}
	for k, v := range all {
		of[k], _ = v.(string)
	}
	return of
}

// TestNothingIsPutAwayWhileNobodyWatchesTheNodes: a node that is not seen need not be gone.
// One sweep also makes only its share of deletions.
func TestNothingIsPutAwayWhileNobodyWatchesTheNodes(t *testing.T) {
	s := asleep(t, sec(0))
	s.enrol.known = map[string]enrolled{}
	for i := range 3 * atOnce {
		s.left.finished[string(rune('a'+i))] = closedFence{uid: "x", version: "1", since: sec(0).Add(-8 * day)}
	}
	if n := len(s.leftovers()); n != atOnce {
		t.Errorf("%d at once", n)
	}
	s.standing.locked(nodes).broken = sec(-1)
	if n := len(s.leftovers()); n != 0 {
		t.Errorf("%d while nobody watches", n)
	}
}

// TestANodeThatIsGoneIsCountedNoMore, so that the names of nodes that are gone don't add
// up.
func TestANodeThatIsGoneIsCountedNoMore(t *testing.T) {
	s := asleep(t, sec(0), "a", "b")
	s.problems.counted.WithLabelValues("a", "TaskHung", "Node").Inc()
	s.problems.counted.WithLabelValues("b", "TaskHung", "Node").Inc()
	s.nodeGone("a")
	if d := cmp.Diff(map[string]float64{"Node b TaskHung": 1}, s.counts(t)); d != "" {
		t.Error(d)
	}
}

// TestWhoLeadsNoMoreCountsNobody: a former leader sees no node go, and another replica
// counts now.
func TestWhoLeadsNoMoreCountsNobody(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	f.set(targetsURL, targetIn("a", string(api.DeviceUnreachable), 0))
	reg := prometheus.NewRegistry()
	s, err := New(Options{
		Config: &rest.Config{Host: f.url}, Client: f.client(), Sender: outboxtest.NewBroker(), Logger: quiet(), Source: "c", Namespace: "ns",
		Resync: time.Hour, CheckEvery: time.Hour, Registerer: reg,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.problems.counted.WithLabelValues("gone", "TaskHung", "Node").Inc()
	byLabel := func() (names []string) {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if n := family.GetName(); n == "nodefence_nodes_unfenceable" || n == "nodefence_source_problem_reports_total" {
				names = append(names, n)
			}
		}
		return names
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.lead(ctx) }()
	eventually(t, func() bool { return len(byLabel()) == 2 })
	cancel()
	f.cutWatches("")
	<-done
	if left := byLabel(); left != nil {
		t.Errorf("still counted: %v", left)
	}
}
