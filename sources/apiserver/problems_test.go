package apiserver

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
	"github.com/nodefence/nodefence/sources/apiserver/outbox/outboxtest"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// hung is what node-problem-detector says of a hung task on node a.
func hung(count int32, change ...func(*corev1.Event)) *corev1.Event {
	ev := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "a.18a", Namespace: "default", UID: "report", CreationTimestamp: metav1.NewTime(sec(0))},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a", UID: "a", Namespace: "default"},
		Source:         corev1.EventSource{Component: "kernel-monitor", Host: "a"},
		Type:           corev1.EventTypeWarning, Reason: "TaskHung", Message: "task sh:1 blocked for more than 120 seconds.",
		FirstTimestamp: metav1.NewTime(sec(-5)), LastTimestamp: metav1.NewTime(sec(-1)), Count: count,
	}
	for _, c := range change {
		c(ev)
	}
	return ev
}

func from(component string) func(*corev1.Event) {
	return func(ev *corev1.Event) { ev.Source.Component = component }
}

// newer is an Event of events.k8s.io as core/v1 shows it.
func newer(ev *corev1.Event) {
	ev.Source, ev.Count, ev.ReportingController = corev1.EventSource{}, 0, "example.com/monitor"
	ev.EventTime, ev.FirstTimestamp, ev.LastTimestamp = metav1.NewMicroTime(sec(-3)), metav1.Time{}, metav1.Time{}
}

// asleep knows nodes and sends nothing.
func asleep(t *testing.T, now time.Time, nodes ...string) *Source {
	t.Helper()
	return asleepWith(t, outboxtest.NewBroker(), now, nodes...)
}

func asleepWith(t *testing.T, sends outbox.Sender, now time.Time, nodes ...string) *Source {
	t.Helper()
	s, err := New(Options{Config: &rest.Config{}, Client: newFakeAPI(t).client(), Sender: sends, Logger: quiet(), Source: "c"})
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return now }
	for _, n := range nodes {
		s.nodes.known[n] = nodeView{uid: "node-" + n}
	}
	return s
}

// pendingIDs are those of the events that wait to be sent, in their order.
func (s *Source) pendingIDs() (ids []string) {
	for _, l := range s.outbox.Waiting() {
		ids = append(ids, l.Event.ID())
	}
	return ids
}

// drain sends everything that waits.
func drain(o *outbox.Outbox) {
	for len(o.Waiting()) > 0 {
		o.SendNext(context.Background())
	}
}

func TestWhichKubernetesEventsAreProblems(t *testing.T) {
	one := []string{"report.1"}
	for name, c := range map[string]struct {
		change func(*corev1.Event)
		want   []string
	}{
		"what node-problem-detector says":  {func(*corev1.Event) {}, one},
		"what a monitor of one's own says": {from("disk-watcher"), one},
		"what is normal is none":           {func(ev *corev1.Event) { ev.Type = corev1.EventTypeNormal }, nil},
		"one that does not say":            {func(ev *corev1.Event) { ev.Type = "" }, one},
		"of the newer API":                 {newer, one},
		"of nobody":                        {from(""), nil},
		"without a reason":                 {func(ev *corev1.Event) { ev.Reason = "\n" }, nil},
		"the kubelet's":                    {from("kubelet"), nil},
		"the node controller's":            {from("node-controller"), nil},
		"kube-proxy's":                     {from("kube-proxy"), nil},
		"the cloud's node controllers'":    {from("cloud-node-lifecycle-controller"), nil},
		"nodefence's own":                  {from("nodefence-power"), nil},
		"nodefence's own, of the newer API": {func(ev *corev1.Event) {
			newer(ev)
			ev.ReportingController = "nodefence.io/power"
		}, nil},
		"of a node that is not there":         {func(ev *corev1.Event) { ev.InvolvedObject.Name, ev.InvolvedObject.UID = "b", "b" }, nil},
		"of this Node object":                 {func(ev *corev1.Event) { ev.InvolvedObject.UID = "node-a" }, one},
		"of an earlier Node of the name":      {func(ev *corev1.Event) { ev.InvolvedObject.UID = "node-a-before" }, nil},
		"of a Node of another API":            {func(ev *corev1.Event) { ev.InvolvedObject.APIVersion = "longhorn.io/v1beta2" }, nil},
		"of the core API by name":             {func(ev *corev1.Event) { ev.InvolvedObject.APIVersion = "v1" }, one},
		"of a pod":                            {func(ev *corev1.Event) { ev.InvolvedObject.Kind = "Pod" }, nil},
		"told ten minutes ago":                {func(ev *corev1.Event) { ev.CreationTimestamp = metav1.NewTime(sec(-600)) }, one},
		"told longer ago":                     {func(ev *corev1.Event) { ev.CreationTimestamp = metav1.NewTime(sec(-601)) }, nil},
		"told just now, by a clock far ahead": {func(ev *corev1.Event) { ev.LastTimestamp = metav1.NewTime(sec(9999)) }, one},
		"told just now, by a clock far behind": {func(ev *corev1.Event) {
			ev.FirstTimestamp, ev.LastTimestamp = metav1.NewTime(sec(-9999)), metav1.NewTime(sec(-9999))
		}, one},
		"told long ago, with a time in its managed fields that its sender wrote": {func(ev *corev1.Event) {
			again := metav1.NewTime(sec(-1))
			ev.CreationTimestamp = metav1.NewTime(sec(-9999))
			ev.ManagedFields = []metav1.ManagedFieldsEntry{{}, {Time: &again}}
		}, nil},
	} {
		s := asleep(t, sec(0), "a")
		kept, err := slim.Report(hung(1, c.change))
		if err != nil {
			t.Fatal(err)
		}
		s.problemHandler().OnAdd(kept, true)
		if d := cmp.Diff(c.want, s.pendingIDs()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestReportsFromBeforeTheNodeAreNotOfIt: many reporters name a Node by its name alone, and another
// machine may have that since (S11).
func TestReportsFromBeforeTheNodeAreNotOfIt(t *testing.T) {
	again := metav1.NewTime(sec(-29))
	for name, c := range map[string]struct {
		change func(*corev1.Event)
		want   []string
	}{
		"before it was created":            {func(*corev1.Event) {}, nil},
		"when it was created":              {func(ev *corev1.Event) { ev.CreationTimestamp = metav1.NewTime(sec(-30)) }, []string{"report.1"}},
		"before, and changed since":        {func(ev *corev1.Event) { ev.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &again}} }, nil},
		"before it was, of its UID itself": {func(ev *corev1.Event) { ev.InvolvedObject.UID = "node-a" }, nil},
	} {
		s := asleep(t, sec(0), "a")
		s.nodes.known["a"] = nodeView{uid: "node-a", created: sec(-30)}
		s.problemHandler().OnAdd(hung(1, func(ev *corev1.Event) { ev.CreationTimestamp = metav1.NewTime(sec(-31)) }, c.change), false)
		if d := cmp.Diff(c.want, s.pendingIDs()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestOfAReportOnlyWhatIsSentIsKept(t *testing.T) {
	again := metav1.NewTime(sec(9))
	full := hung(3, newer, func(ev *corev1.Event) {
		ev.EventTime = metav1.MicroTime{}
		ev.Labels, ev.Action, ev.ReportingInstance = map[string]string{"a": "b"}, "x", "x"
		ev.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Time: &again}}
	})
	obj, err := slim.Report(full)
	if err != nil {
		t.Fatal(err)
	}
	kept := obj.(*corev1.Event)
	was, _ := reportOf(full)
	is, _ := reportOf(kept)
	if d := cmp.Diff(was, is); d != "" || !nodeproblem.ToldAt(kept).Equal(nodeproblem.ToldAt(full)) {
		t.Errorf("another report than before: %s, told at %s", d, nodeproblem.ToldAt(kept))
	}
	if kept.ManagedFields != nil || kept.Labels != nil {
		t.Errorf("kept what is not sent: %v %v", kept.ManagedFields, kept.Labels)
	}
}

func TestAProblemIsSentEachTimeThatItIsSeenAgain(t *testing.T) {
	series := func(n int32) func(*corev1.Event) {
		return func(ev *corev1.Event) {
			newer(ev)
			if n > 1 {
				ev.Series = &corev1.EventSeries{Count: n, LastObservedTime: metav1.NewMicroTime(sec(-1))}
			}
		}
	}
	for name, c := range map[string]struct {
		old, now *corev1.Event
		want     []string
	}{
		"seen once more":             {hung(1), hung(2), []string{"report.2"}},
		"the same again":             {hung(2), hung(2), nil},
		"only its words changed":     {hung(2), hung(2, func(ev *corev1.Event) { ev.Message = "x" }), nil},
		"a series begins":            {hung(0, series(1)), hung(0, series(2)), []string{"report.2"}},
		"a series goes on":           {hung(0, series(2)), hung(0, series(7)), []string{"report.7"}},
		"another of the same name":   {hung(2), hung(2, func(ev *corev1.Event) { ev.UID = "other" }), []string{"other.2"}},
		"a count of none counts one": {hung(0), hung(1), nil},
	} {
		s := asleep(t, sec(0), "a")
		s.problemHandler().OnUpdate(c.old, c.now)
		if d := cmp.Diff(c.want, s.pendingIDs()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestWhileTheBrokerIsAwayOnlyTheNewestCountWaitsAndNotForEver(t *testing.T) {
	now := sec(0)
	s := asleep(t, now, "a")
	s.now = func() time.Time { return now }
	b := s.o.Sender.(*outboxtest.Broker)
	for n := range int32(5) {
		s.problemHandler().OnAdd(hung(n+1), false)
	}
	drain(s.outbox)
	if d := cmp.Diff([]string{"report.5"}, b.IDs()); d != "" {
		t.Error(d)
	}
	s.problemHandler().OnAdd(hung(6), false)
	now = sec(601)
	drain(s.outbox)
	if got := b.IDs(); got != nil || s.pendingIDs() != nil {
		t.Errorf("history was sent: %v, waiting %v", got, s.pendingIDs())
	}
}

func TestAProblemFromTheAPIServerToTheBroker(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	at := time.Now().UTC().Truncate(time.Second)
	told := func(count int32) *corev1.Event {
		return hung(count, func(ev *corev1.Event) { ev.CreationTimestamp = metav1.NewTime(at) })
	}
	f.set(eventsURL, told(2))
	f.set(eventsURL, hung(1, func(ev *corev1.Event) { ev.Name, ev.UID = "old", types.UID("old") }))
	s, b := start(t, f, time.Hour)
	want := func(e event.Event, p events.Payload) {
		t.Helper()
		var got events.Payload
		if err := e.DataAs(&got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, got); d != "" || e.Type() != events.NodeProblem || e.Subject() != "a" ||
			e.Extensions()[events.ReasonAttr] != "TaskHung" || e.Extensions()[events.ComponentAttr] != "kernel-monitor" {
			t.Errorf("%s %s", e, d)
		}
	}
	p := events.Payload{
		Node: "a", NodeUID: "node-a", Component: "kernel-monitor", Reason: "TaskHung", Message: "task sh:1 blocked for more than 120 seconds.",
		Count: 2, First: sec(-5).Format(time.RFC3339Nano), Last: sec(-1).Format(time.RFC3339Nano),
	}
	want(b.Next(t), p)
	f.set(eventsURL, told(3))
	p.Count = 3
	want(b.Next(t), p)
	eventually(t, func() bool { return s.Ready() == nil })
}

func TestWithoutLeaveToSeeEventsTheRestGoesOn(t *testing.T) {
	f := newFakeAPI(t)
	f.forbid(eventsURL)
	f.set(nodesURL, nodeIn("a", "Unknown", 1))
	s, b := start(t, f, time.Hour)
	if e := b.Next(t); e.Type() != events.NodeUnhealthy {
		t.Errorf("got %s", e)
	}
	eventually(t, func() bool {
		s.standing.mu.Lock()
		defer s.standing.mu.Unlock()
		return s.standing.locked(problems).said
	})
	s.standing.mu.Lock()
	s.standing.locked(problems).broken = s.now().Add(-2 * brokenTooLong)
	s.standing.mu.Unlock()
	eventually(t, func() bool { // it has listed the rest
		err := s.Ready()
		return err != nil && err.Error() == "not watched at present: [events]"
	})
}
