package apiserver

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/census"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
)

func targetIn(node, reason string, checked float64) *api.FenceTarget {
	t := &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("target-" + node)}}
	status := metav1.ConditionFalse
	if reason == string(api.DeviceAnswers) {
		status = metav1.ConditionTrue
	}
	t.Status = api.FenceTargetStatus{
		NodeUID: types.UID("node-" + node), LastChecked: leases.Stamp(sec(checked)),
		Devices:    []api.TargetDevice{{Driver: "mem", Address: node, LastChecked: leases.Stamp(sec(checked)), Reason: api.Reason(reason)}},
		Conditions: []metav1.Condition{{Type: api.Fenceable, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(sec(checked))}},
	}
	return t
}

// TestNodesAreAskedForInTheirTurn: a turn is in the ledger before the event is sent, a node
// with an open fence has none, and the node whose check is longest ago comes first.
func TestNodesAreAskedForInTheirTurn(t *testing.T) {
	f := newFakeAPI(t)
	for _, n := range []string{"a", "b", "c"} {
		f.set(nodesURL, nodeIn(n, "True", 0))
	}
	f.set(targetsURL, targetIn("b", string(api.DeviceAnswers), 0))
	f.set(fencesURL, fenceOf("", func(f *api.NodeFence) { f.Name, f.Spec.NodeName = "c", "c" }))
	_, b := startWith(t, f, Options{Resync: time.Hour, CheckEvery: 2 * time.Second})
	var got []string
	for range 3 {
		e := b.Until(t, func(e event.Event) bool { return e.Type() == events.NodeCheck })
		got = append(got, e.Subject())
		f.mu.Lock()
		_, stands := f.ledger().Status.Turn(e.Subject())
		f.mu.Unlock()
		if !stands || e.Extensions()[events.ExpiryTime] == nil {
			t.Errorf("%s is asked for without a turn in the ledger, or for ever", e.ID())
		}
	}
	if d := cmp.Diff([]string{"a", "b", "a"}, got); d != "" {
		t.Error(d)
	}
}

// TestANodeIsAskedForWhenAPersonSaysSo: within seconds, though its next turn would be in an
// hour, and no longer once its FenceTarget says that the request was carried out.
func TestANodeIsAskedForWhenAPersonSaysSo(t *testing.T) {
	f := newFakeAPI(t)
	now := time.Since(t0).Seconds()
	for _, n := range []string{"a", "b"} {
		f.set(nodesURL, nodeIn(n, "True", 0))
		f.set(targetsURL, targetIn(n, string(api.DeviceAnswers), now))
	}
	_, b := startWith(t, f, Options{Resync: time.Hour, CheckEvery: time.Hour})
	asks := func() string {
		return b.Until(t, func(e event.Event) bool { return e.Type() == events.NodeCheck }).Subject()
	}
	wish := targetIn("b", string(api.DeviceAnswers), now)
	wish.Annotations = map[string]string{api.CheckNowAnnotation: "1"}
	first := asks() // the next one is in half an hour
	f.set(targetsURL, wish)
	if got := asks(); first != "a" || got != "b" {
		t.Errorf("asked for %s, and then for %s", first, got)
	}
	done := wish.DeepCopy()
	done.Status.LastChecked = leases.Stamp(time.Now())
	done.Status.CheckNow = &api.CheckNow{Value: "1", At: *leases.Stamp(time.Now()), DoneAt: leases.Stamp(time.Now())}
	f.set(targetsURL, done)
	wish.Name, wish.Status.NodeUID, wish.Status.LastChecked = "a", "node-a", done.Status.LastChecked
	f.set(targetsURL, wish)
	if got := asks(); got != "a" {
		t.Errorf("%s is asked for again", got)
	}
}

// TestADeviceThatIsLeftAloneIsNotWaitedFor: its old result would be first in line for ever.
func TestADeviceThatIsLeftAloneIsNotWaitedFor(t *testing.T) {
	target := targetIn("a", string(api.DeviceDenied), 0)
	target.Status.LastChecked = leases.Stamp(sec(1800))
	if v := viewOfTarget(target); !v.oldest.Equal(sec(1800)) {
		t.Errorf("it waits since %s", v.oldest)
	}
}

// TestNobodyIsAskedForWhereChecksAreOff: no interval means no checks.
func TestNobodyIsAskedForWhereChecksAreOff(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	s, _ := start(t, f, time.Hour)
	f.picture(t, func(api.LeasePicture) bool { return true })
	s.targets.mu.Lock()
	defer s.targets.mu.Unlock()
	if s.targets.listed || s.targets.pace.Begun() {
		t.Error("a node has a turn")
	}
}

// TestUnfenceableNodesAreCountedAndForgotten: by reason, as long as there is such a
// FenceTarget. It is deleted with its node, but not while a fence of the node is open.
func TestUnfenceableNodesAreCountedAndForgotten(t *testing.T) {
	f := newFakeAPI(t)
	for _, n := range []string{"a", "b", "c"} {
		f.set(nodesURL, nodeIn(n, "True", 0))
	}
	f.set(targetsURL, targetIn("a", string(api.DeviceUnreachable), 0))
	f.set(targetsURL, targetIn("b", string(api.DeviceUnreachable), 0))
	f.set(targetsURL, targetIn("c", string(api.DeviceAnswers), 0))
	f.set(targetsURL, targetIn("gone", string(api.NoBinding), 0))
	f.set(targetsURL, targetIn("fenced", string(api.NoBinding), 0))
	f.set(fencesURL, fenceOf("", func(f *api.NodeFence) { f.Name, f.Spec.NodeName = "fenced", "fenced" }))
	reg := prometheus.NewRegistry()
	startWith(t, f, Options{Resync: 50 * time.Millisecond, CheckEvery: time.Hour, Registerer: reg})
	becomes := func(want map[string]float64) {
		t.Helper()
		eventually(t, func() bool { return maps.Equal(unfenceable(t, reg), want) })
	}
	becomes(map[string]float64{"DeviceUnreachable false": 2, "NoBinding false": 1})
	f.set(targetsURL, targetIn("a", string(api.DeviceAnswers), 1))
	becomes(map[string]float64{"DeviceUnreachable false": 1, "NoBinding false": 1})
	f.remove(fencesURL, "fenced")
	becomes(map[string]float64{"DeviceUnreachable false": 1})
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.objects[targetsURL]); n != 3 {
		t.Errorf("%d FenceTargets are left, of 3 nodes", n)
	}
}

// unfenceable is how many nodes could not be fenced, by reason and whether they are to be fenced.
func unfenceable(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if n := m.GetGauge().GetValue(); family.GetName() == "nodefence_nodes_unfenceable" && n != 0 {
				all[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = n
			}
		}
	}
	return all
}

// TestUnfenceableNodesAreToldApart: those that the policies would have fenced, and those that they leave
// alone. That follows the policies, the nodes' labels, and the nodes themselves.
func TestUnfenceableNodesAreToldApart(t *testing.T) {
	f := newFakeAPI(t)
	worker, plane, spared := nodeIn("worker", "True", 0), nodeIn("plane", "True", 0), nodeIn("spared", "True", 0)
	plane.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
	spared.Labels = map[string]string{"remediation.medik8s.io/exclude-from-remediation": "true"}
	for _, n := range []*corev1.Node{worker, plane, spared} {
		f.set(nodesURL, n)
		f.set(targetsURL, targetIn(n.Name, string(api.NoBinding), 0))
	}
	reg := prometheus.NewRegistry()
	s, _ := startWith(t, f, Options{Resync: 50 * time.Millisecond, CheckEvery: time.Hour, Registerer: reg})
	becomes := func(toBe, not float64) {
		t.Helper()
		want := map[string]float64{"NoBinding true": toBe, "NoBinding false": not}
		maps.DeleteFunc(want, func(_ string, n float64) bool { return n == 0 })
		eventually(t, func() bool { return maps.Equal(unfenceable(t, reg), want) })
	}
	becomes(0, 3)
	quorum := api.WithQuorum
	policy := api.FencePolicy{Spec: api.FencePolicySpec{Mode: api.ModeEnforce, Action: api.ActionOff, Selector: &api.LabelSelector{}}}
	for _, step := range []struct {
		change    func()
		toBe, not float64
	}{
		{func() { policy.Name = "p" }, 1, 2},
		{func() { policy.Spec.ControlPlane.Fence = &quorum }, 2, 1},
		{func() { policy.Spec.Mode = api.ModeDryRun }, 0, 3},
		{func() { policy.Spec.Mode = api.ModeRequireApproval }, 2, 1},
		{func() { spared.Labels = nil; f.set(nodesURL, spared) }, 3, 0},
		{func() { f.set(targetsURL, targetIn("plane", string(api.DeviceAnswers), 1)) }, 2, 0},
	} {
		step.change()
		policy.Generation++
		f.set(policiesURL, &policy)
		becomes(step.toBe, step.not)
	}
	f.set(fencesURL, fenceOf("", func(f *api.NodeFence) { f.Name, f.Spec.NodeName = "worker", "worker" }))
	eventually(t, func() bool { // nothing else is to be judged anew
		s.targets.mu.Lock()
		defer s.targets.mu.Unlock()
		return s.targets.byNode["worker"].hostHA == api.HostHAFencing && len(s.targets.hostHA.doubtful) == 0
	})
	f.remove(nodesURL, "worker") // its FenceTarget stays while its fence is open
	becomes(1, 1)
}

// TestAnotherSourcesTurnStays: two sources that both believe to lead give turns at once. A
// turn that one has written between the other's read and write is in the ledger afterwards;
// otherwise a fence would not see that the device may be under a read (S7).
func TestAnotherSourcesTurnStays(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	theirs := api.NodeTurn{NodeName: "b", Until: *leases.Stamp(time.Now().Add(time.Hour))}
	f.between = func(l *api.FenceLedger) { l.Status.Checks = append(l.Status.Checks, theirs) }
	_, b := startWith(t, f, Options{Resync: time.Hour, CheckEvery: 2 * time.Second})
	b.Until(t, func(e event.Event) bool { return e.Type() == events.NodeCheck })
	f.mu.Lock()
	defer f.mu.Unlock()
	if until, ok := f.ledger().Status.Turn("b"); !ok || !until.Equal(&theirs.Until) {
		t.Errorf("%+v", f.ledger().Status.Checks)
	}
}

// TestTurnsOfTomorrowStay: a newer source may write fields of a turn that this source does
// not know, and that would be lost if it wrote its own turns. The picture of the Leases is
// still written.
func TestTurnsOfTomorrowStay(t *testing.T) {
	f := newFakeAPI(t)
	until := leases.Stamp(time.Now().Add(time.Hour))
	checks := []any{map[string]any{"nodeName": "b", "until": until, "novel": "x"}}
	f.set(ledgerURL, map[string]any{"metadata": map[string]any{"name": api.LedgerName}, "status": map[string]any{"checks": checks}})
	c := f.client()
	s := &Source{o: Options{Client: c}, now: time.Now, targets: newTargetStore(), counting: census.New(), configs: newConfigStore(), enrol: &enrolment{}}
	s.targets.begin(time.Minute, []api.NodeTurn{{NodeName: "a", Until: *until}})
	l, err := s.write(t.Context(), drawn{LeasePicture: api.LeasePicture{Total: 2}})
	if err != nil || len(l.Status.Checks) != 1 || l.Status.Checks[0].NodeName != "b" {
		t.Errorf("%+v, %v", l, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if raw, _ := json.Marshal(f.objects[ledgerURL]); !strings.Contains(string(raw), `"novel":"x"`) || len(f.pictures) != 1 {
		t.Errorf("%d pictures, %s", len(f.pictures), raw)
	}
}

// TestPowerLooksAtCredentials of each open fence whose device is left alone for a refused account,
// and of no other.
func TestPowerLooksAtCredentials(t *testing.T) {
	s := asleep(t, sec(300), "a")
	denied := func(node string, count int32, at float64, credentials string) *api.NodeFence {
		return fenceOf("1", func(f *api.NodeFence) {
			f.Name, f.Spec.NodeName, f.UID = node, node, types.UID("fence-"+node)
			f.Status.Power.Denied = []api.Denied{{Device: "d", Count: count, At: metav1.NewMicroTime(sec(at)), Credentials: credentials}}
		})
	}
	for _, f := range []*api.NodeFence{denied("a", 3, 200, "v1"), denied("b", 2, 200, "v1"), denied("c", 3, -10, "v1"), denied("d", 3, 200, "")} {
		s.fence(f)
	}
	before := s.pendingIDs()
	s.sendCredentialChecks()
	got := slices.DeleteFunc(s.pendingIDs(), func(id string) bool { return slices.Contains(before, id) })
	if len(got) != 1 || !strings.HasPrefix(got[0], "fence-a.credentials.") {
		t.Errorf("sent %q", got)
	}
}
