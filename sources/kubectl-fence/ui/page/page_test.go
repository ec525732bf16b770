package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(d time.Duration) *api.Time {
	t := metav1.NewMicroTime(now.Add(d))
	return &t
}

func node(name, zone string, ready corev1.ConditionStatus) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}}
	return n
}

func fence(name string, phase api.Phase, reason api.Reason, message string) api.NodeFence {
	f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}, Spec: api.NodeFenceSpec{NodeName: name}}
	st := &f.Status
	st.FenceNumber, st.Phase, st.Reason, st.Message, st.Outcome = 2, phase, reason, message, ""
	st.OpenedAt, st.PhaseSince = at(-time.Minute), at(-10*time.Second)
	st.Decision.Policy.Name, st.Decision.Settings.Mode, st.Decision.Settings.Action = "workers", api.ModeEnforce, api.ActionReboot
	st.Decision.Trigger = api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}}
	return f
}

func workers() api.FencePolicy {
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "workers", Generation: 1}}
	p.Spec.Selector, p.Spec.Mode, p.Spec.Action = &api.LabelSelector{}, api.ModeEnforce, api.ActionReboot
	return p
}

// cluster has nodes of every kind.
func cluster() *Look {
	l := &Look{Base: "/base", User: "alice", Zone: time.UTC, Seen: view.Seen{Now: now, Ledger: &api.FenceLedger{}, Policies: []api.FencePolicy{workers()}}}
	l.Nodes = []corev1.Node{
		node("a1", "west", corev1.ConditionTrue), node("a2", "west", corev1.ConditionUnknown), node("a3", "west", corev1.ConditionTrue), node("a4", "west", corev1.ConditionTrue),
		node("b1", "east", corev1.ConditionUnknown), node("b2", "east", corev1.ConditionUnknown), node("b3", "east", corev1.ConditionFalse), node("b4", "east", corev1.ConditionTrue), node("b5", "", corev1.ConditionTrue),
	}
	l.Fences = []api.NodeFence{fence("b1", api.Fencing, api.PowerOffSent, "off sent"), fence("b2", api.Failed, api.DeviceFailed, "no answer"), fence("a4", api.Fenced, api.StaysOff, "it stays off")}
	l.Policies[0].Status.Held = []api.HeldNode{{NodeName: "a2", Reason: api.TooManyUnhealthy, Message: "3 of 9"}}
	l.Policies[0].Status.Missing = []api.MissingNode{{NodeName: "gone", Since: *at(-time.Hour)}}
	l.Ledger.Name = api.LedgerName
	l.Ledger.Status.Leases = api.LeasePicture{Since: at(-time.Hour), ObservedAt: at(-time.Second), Total: 9}
	l.Ledger.Status.Leases.Still = []api.StillLease{{NodeName: "a1", Since: *at(-4 * time.Second)}, {NodeName: "a3", Since: *at(-8 * time.Second), Stale: true}}
	l.Targets = []api.FenceTarget{{ObjectMeta: metav1.ObjectMeta{Name: "b4"}}}
	l.Targets[0].Status.Conditions = []metav1.Condition{{Type: api.Fenceable, Status: metav1.ConditionFalse, Reason: string(api.DeviceUnreachable), Message: "no answer"}}
	return l
}

// TestCluster: every node has its state, what needs a person first, and zones count all of them.
func TestCluster(t *testing.T) {
	l := cluster()
	c := NewCluster(l, "", false)
	var got []string
	for _, x := range c.Attention {
		got = append(got, x.Node+" "+x.State.Word+" "+string(x.Reason)+" "+l.At(x.Since).Ago)
	}
	want := []string{
		"b2 Failed DeviceFailed 10s ago", "gone Missing NodeMissing 60m ago", "a2 Held TooManyUnhealthy 60s ago", "b1 Fencing PowerOffSent 10s ago",
		"a3 Silent  8s ago", "b3 NotReady  60s ago", "a4 Fenced StaysOff 10s ago", "b4 Not fenceable DeviceUnreachable ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = nil
	for _, z := range c.Zones {
		got = append(got, fmt.Sprintf("%s: %s", z.Name, said(z.Counts)))
	}
	want = []string{": 1 Missing, 1 Ready", "east: 1 Failed, 1 Fencing, 1 NotReady, 1 Not fenceable", "west: 1 Held, 1 Silent, 1 Fenced, 1 Ready"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestWhoIsLeftAlone needs no look, unless it falls silent; and stands here although its policy's status has no
// room for it.
func TestWhoIsLeftAlone(t *testing.T) {
	l := cluster()
	for _, i := range []int{0, 2, 8} { // a1, a3 whose Lease stands still, b5
		l.Nodes[i].Labels[api.ControlPlaneLabel] = ""
	}
	l.Policies[0].Status.HeldCount = 6 // a2 is named, and the fence of b2 has failed
	c := NewCluster(l, "", false)
	for _, x := range c.Attention {
		if x.Node == "a1" || x.Node == "b5" || x.Node == "a3" && (x.State.Word != silent || x.Reason != "") {
			t.Errorf("%s needs a look: %s %s", x.Node, x.State.Word, x.Reason)
		}
	}
	if got := said(c.Counts); !strings.HasSuffix(got, ", 2 Left alone") {
		t.Error(got)
	}
	if d := cmp.Diff([]string{"Policy workers holds 6 nodes: 1 more is not named, and stands here as if it were not held."}, c.Unnamed); d != "" {
		t.Error(d)
	}
}

// TestLinks: every node has a page, also one that is missing.
func TestLinks(t *testing.T) {
	l := cluster()
	html := whole(t, l, NewCluster(l, "", false))
	for name, want := range map[string]int{"b2": 2, "a1": 1, "gone": 2, "nobody": 0} {
		if got := strings.Count(html, `"/base/node/`+name+`"`); got != want {
			t.Errorf("%d links to %s, want %d", got, name, want)
		}
		if _, err := NewNode(l, name); (err == nil) != (want > 0) {
			t.Errorf("page of %s: %v", name, err)
		}
	}
}

// TestEveryKindHasAShape: without colour, word and shape say how a node stands.
func TestEveryKindHasAShape(t *testing.T) {
	seen := map[string]string{}
	for _, k := range kinds {
		if shapes[k] == "" || seen[shapes[k]] != "" {
			t.Errorf("kind %s has no shape of its own", k)
		}
		seen[shapes[k]] = k
	}
	for _, p := range api.Phases {
		if p != api.Finished && stateOf(view.Row{State: string(p)}).Rank() < 0 {
			t.Errorf("phase %s is of no kind", p)
		}
	}
}

// whole is a page as a browser gets it.
func whole(t *testing.T, l *Look, p Shown) string {
	t.Helper()
	main, err := Main(p)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, &Frame{Look: l, Title: p.Title(), Saying: p.Saying(), Path: "/", Main: main}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNothingOfTheClusterIsMarkup: whatever stands in a name, a label or a message is shown as it
// is written.
func TestNothingOfTheClusterIsMarkup(t *testing.T) {
	const nasty = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`
	l := cluster()
	l.User, l.Server, l.Context, l.Notice, l.Warning, l.Gaps = nasty, nasty, nasty, nasty, nasty, []Gap{{Kind: nasty, Words: nasty}}
	l.Nodes[0].Labels[corev1.LabelTopologyZone] = nasty
	l.Nodes[0].Spec.Taints = []corev1.Taint{{Key: nasty, Value: nasty}}
	f := &l.Fences[0]
	f.Status.Message, f.Status.Decision.Policy.Name, f.Status.Decision.Trigger.Reason = nasty, nasty, nasty
	f.Status.History = []api.HistoryEntry{{At: *at(-time.Minute), Phase: api.Phase(nasty), Reason: api.Reason(nasty), Message: nasty}}
	f.Spec.Requests.Abort = &api.AbortRequest{By: nasty, Reason: nasty}
	l.Policies[0].Spec.PauseRequests, l.Policies[0].Status.Effective = []string{nasty}, []string{nasty}
	l.Policies[0].Status.Held[0].Message = nasty
	l.Ledger.Status.Storms = []api.Storm{{Policy: nasty, Message: nasty}}
	n, err := NewNode(l, "b1")
	if err != nil {
		t.Fatal(err)
	}
	confirm := &Confirm{Look: l, Verb: "abort", Name: nasty, Question: nasty, Says: []string{nasty}, Types: nasty, TakesReason: true, Reason: nasty, Drains: []Choice{{Value: nasty, Says: nasty}}, As: nasty, Shown: nasty, Back: nasty}
	for _, p := range []Shown{NewCluster(l, nasty, true), n, NewPolicies(l), NewHistory(l, nasty), confirm, &Message{Look: l, Heading: nasty, Text: nasty, Back: nasty, BackName: nasty}} {
		html := whole(t, l, p)
		if strings.Contains(html, "<script>") || strings.Contains(html, "<img") || strings.Contains(html, `onerror=alert(1)>'"`) {
			t.Errorf("%T has markup of the cluster's: %s", p, html)
		}
		if !strings.Contains(html, "&lt;script&gt;") {
			t.Errorf("%T does not show what is written", p)
		}
	}
}

// TestBars: the phases of a fence lie one after the other, over all of its time, and what was done
// is marked.
func TestBars(t *testing.T) {
	f := fence("b1", api.Releasing, api.ReleaseStarted, "")
	st := &f.Status
	for _, h := range []struct {
		after time.Duration
		phase api.Phase
	}{{0, api.Pending}, {15 * time.Second, api.Isolating}, {15 * time.Second, api.Isolating}, {30 * time.Second, api.Fencing}, {45 * time.Second, api.Releasing}} {
		st.History = append(st.History, api.HistoryEntry{At: *at(h.after - time.Minute), Phase: h.phase})
	}
	st.Power.CutAt, st.Power.OffCalls = at(-28*time.Second), 1
	st.Proof = &api.Proof{Type: api.ProofSeenOff, At: *at(-16 * time.Second), Reads: []api.Read{{State: api.PoweredOff, At: *at(-20 * time.Second)}, {State: api.PoweredOff, At: *at(-16 * time.Second)}}}
	st.Release.StartedAt, st.Release.PodsLeft, st.Release.Pods = at(-15*time.Second), 2, 9
	got := fenceOf(&Look{Seen: view.Seen{Now: now}}, &f)
	want := []Bar{
		{Phase: api.Pending, Took: "15s", X: "0.00", W: "25.00"}, {Phase: api.Isolating, Took: "15s", X: "25.00", W: "25.00"},
		{Phase: api.Fencing, Took: "15s", X: "50.00", W: "25.00"}, {Phase: api.Releasing, Took: "15s", X: "75.00", W: "25.00", Now: true},
	}
	if d := cmp.Diff(want, got.Bars); d != "" {
		t.Error(d)
	}
	var marks []string
	for _, m := range got.Marks {
		marks = append(marks, m.After+" "+m.What)
	}
	if d := cmp.Diff([]string{"+32s Off sent", "+40s Read 1 of 2: PoweredOff", "+44s Read 2 of 2: PoweredOff", "+44s Proof: SeenOff", "+45s Release began"}, marks); d != "" {
		t.Error(d)
	}
	if want := "9 pods are released; 2 pods and 0 volume attachments are left."; got.Release != want {
		t.Error(got.Release)
	}
	st.Release.PodsLeft, st.Release.AttachmentsLeft, st.Release.Pods = 1, 1, 1
	if got, want := releaseWords(st), "1 pod is released; 1 pod and 1 volume attachment are left."; got != want {
		t.Error(got)
	}
	st.Release.DoneAt = at(-5 * time.Second)
	if got, want := releaseWords(st), "1 pod was released, and nothing was left after 10s."; got != want {
		t.Error(got)
	}
}

// TestVerbs: a page offers what nodefence would not refuse or ignore.
func TestVerbs(t *testing.T) {
	for _, tt := range []struct {
		node   string
		change func(*api.NodeFence)
		want   string
	}{
		{"a1", nil, "ask"}, {"b1", nil, "abort, confirm-off"}, {"b2", nil, "abort, retry, confirm-off"},
		{"b1", func(f *api.NodeFence) {
			f.Status.Reason, f.Status.WaitsFor = api.WaitingForApproval, api.WaitsForApproval
		}, "approve, abort, confirm-off"},
		{"b1", func(f *api.NodeFence) {
			f.Status.Decision.Settings.Mode, f.Status.Phase, f.Status.Reason = api.ModeRequireApproval, api.Pending, api.TooManyUnhealthy
		}, "approve, abort, confirm-off"},
		{"b1", func(f *api.NodeFence) { f.Status.Decision.Settings.Mode = api.ModeRequireApproval }, "abort, confirm-off"},
		{"b2", func(f *api.NodeFence) {
			f.Status.Decision.Settings.Mode, f.Status.Reason = api.ModeRequireApproval, api.NotApproved
		}, "abort, retry, confirm-off"},
		{"b1", func(f *api.NodeFence) { f.Status.Decision.Settings.Recovery.Uncordon = api.UncordonManual }, "abort, confirm-off"},
		{"b1", func(f *api.NodeFence) {
			f.Status.Decision.Settings.Recovery.Uncordon, f.Status.Phase = api.UncordonManual, api.Recovering
		}, "abort, lift"},
		{"b1", func(f *api.NodeFence) { f.Status.Phase = api.PoweringOn }, "abort"},
		{"b1", func(f *api.NodeFence) {
			f.Status.Decision.Trigger.Machine = &api.MachineTrigger{State: api.MachineStateNoNode}
		}, "abort"},
		{"b1", func(f *api.NodeFence) { f.Status.Phase = api.Finished }, "ask"},
		{"b1", func(f *api.NodeFence) {
			f.Status.Phase, f.Status.Refuted = api.Finished, &api.Refutation{FenceNumber: 1}
		}, "trust, ask"},
	} {
		l := cluster()
		if tt.change != nil {
			tt.change(l.Fence(tt.node))
		}
		var got []string
		for _, v := range verbs(l, tt.node) {
			got = append(got, v.Name)
		}
		if g := strings.Join(got, ", "); g != tt.want {
			t.Errorf("%s: %s, want %s", tt.node, g, tt.want)
		}
	}
}

// TestLedgerVerbs: the page of the cluster offers what the ledger may be told now.
func TestLedgerVerbs(t *testing.T) {
	for want, change := range map[string]func(*api.FenceLedger){
		"stop":  func(*api.FenceLedger) {},
		"start": func(l *api.FenceLedger) { l.Spec.Stop = true },
		"stop, end-cool-down": func(l *api.FenceLedger) {
			l.Status.Storms = []api.Storm{{Policy: "workers", CoolDownUntil: at(time.Hour)}}
		},
		"start, ": func(l *api.FenceLedger) { // what is over is not offered
			l.Spec.Stop, l.Status.Storms = true, []api.Storm{{Policy: "workers", CoolDownUntil: at(-time.Hour)}}
		},
		"stop, confirm-restore": func(l *api.FenceLedger) { l.Status.Restored = &api.Restored{SeenAt: *at(0)} },
	} {
		l := cluster()
		change(l.Ledger)
		var got []string
		for _, v := range NewCluster(l, "", false).Verbs {
			got = append(got, v.Name)
			if html := whole(t, l, NewCluster(l, "", false)); !strings.Contains(html, `href="/base/do/`+v.Name+`/cluster"`) {
				t.Errorf("the page has no %s", v.Name)
			}
		}
		if g := strings.Join(got, ", "); g != strings.TrimSuffix(want, ", ") {
			t.Errorf("%s, want %s", g, want)
		}
	}
}

// TestCoolDowns: a page says which cool-downs hold fences, and who has ended one.
func TestCoolDowns(t *testing.T) {
	l := cluster()
	l.Ledger.Status.Storms = []api.Storm{{Policy: "racks", CoolDownUntil: at(time.Minute)}, {Policy: "workers", CoolDownUntil: at(time.Hour)}}
	l.Ledger.Spec.CoolDownEnded = &api.CoolDownEnded{By: "bob", Reason: "switches", Until: *at(time.Minute)}
	want := []string{
		"The storm over policy racks has ended, and bob has ended its cool-down: switches.",
		"The storm over policy workers has ended; no fence begins there before " + l.At(at(time.Hour)).Text + ".",
	}
	if d := cmp.Diff(want, l.Notes()); d != "" {
		t.Error(d)
	}
}

// TestPauses: every page says which policies are paused, before their statuses do.
func TestPauses(t *testing.T) {
	l := cluster()
	l.Policies[0].Spec.PauseRequests = []string{"ann"}
	want := []string{"no new fence begins under policy workers: it is paused by ann; kubectl fence resume workers takes your name out, or another one with --as-name"}
	if d := cmp.Diff(want, l.Notes()); d != "" {
		t.Error(d)
	}
}

// TestTimes are the person's own, with UTC beside them, and with the date where it is another day.
func TestTimes(t *testing.T) {
	l := &Look{Seen: view.Seen{Now: now}, Zone: time.FixedZone("CET", 3600)}
	for when, want := range map[time.Duration]string{
		-90 * time.Second: "04:02:35 CET (03:02:35 UTC) 90s ago", 20 * time.Second: "04:04:25 CET (03:04:25 UTC) in 20s", -24 * time.Hour: "2026-01-01 04:04:05 CET (03:04:05 UTC) 24h ago",
	} {
		m := l.At(at(when))
		if got := m.Text + " " + m.Ago; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if m := l.At((*api.Time)(nil)); m != (Moment{}) {
		t.Errorf("no time is shown as %+v", m)
	}
}

// TestLargeClusters: thousands of nodes are counted, and those that are not well are named.
func TestLargeClusters(t *testing.T) {
	l := large(5000)
	c := NewCluster(l, "", false)
	html := whole(t, l, c)
	if strings.Contains(html, "node-17<") || !strings.Contains(html, "node-0<") || len(html) > 200_000 {
		t.Errorf("the page has %d bytes, and names nodes that are well: %v", len(html), strings.Contains(html, "node-17<"))
	}
	if html := whole(t, l, NewCluster(l, "zone-2", true)); !strings.Contains(html, "node-17<") || strings.Contains(html, "node-18<") {
		t.Error("the nodes of one zone are not shown when they are asked for")
	}
}

// large is a cluster of n nodes in five zones, of which every hundredth is silent.
// TestSlotsStandApart from what waits for one: numbers of open fences beside a limit of slots look impossible.
func TestSlotsStandApart(t *testing.T) {
	l := cluster()
	l.Fences = []api.NodeFence{fence("b1", api.Fencing, api.PowerOffSent, "off sent")}
	for _, n := range []string{"a2", "b2", "b3", "b4"} {
		l.Fences = append(l.Fences, fence(n, api.Pending, api.TooManyConcurrent, "1 of 1"))
	}
	l.Policies[0].Status.OpenFences, l.Policies[0].Status.FencesAllowed = 0, 3 // of before
	const slots = "1 of 1 at once runs, 4 wait"
	for what, p := range map[string]Shown{"cluster": NewCluster(l, "", false), "policies": NewPolicies(l)} {
		if html := whole(t, l, p); !strings.Contains(html, slots) || strings.Contains(html, "5 of 1") || strings.Contains(html, "3 more may begin") {
			t.Errorf("%s: %s", what, html)
		}
	}
	l = unread(l, "NodeFences")
	if html := whole(t, l, NewPolicies(l)); strings.Contains(html, "at once") {
		t.Errorf("fences were not read: %s", html)
	}
}

func large(n int) *Look {
	l := &Look{Base: "/base", Seen: view.Seen{Now: now, Ledger: &api.FenceLedger{}, Policies: []api.FencePolicy{workers()}}}
	l.Ledger.Status.Leases = api.LeasePicture{Since: at(-time.Hour), ObservedAt: at(-time.Second), Total: int32(n)}
	for i := range n {
		ready := corev1.ConditionTrue
		if i%100 == 0 {
			ready = corev1.ConditionUnknown
		}
		l.Nodes = append(l.Nodes, node(fmt.Sprintf("node-%d", i), fmt.Sprintf("zone-%d", i%5), ready))
		l.Targets = append(l.Targets, api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}})
	}
	l.Seen = l.Indexed()
	return l
}

func BenchmarkLargeCluster(b *testing.B) {
	l := large(5000)
	for b.Loop() {
		if _, err := Main(NewCluster(l, "", false)); err != nil {
			b.Fatal(err)
		}
	}
}
