package apiserver

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// unmounted is what the kubelet of node a reports of pod web-0.
func unmounted(count int32, change ...func(*corev1.Event)) *corev1.Event {
	ev := hung(count)
	ev.Name, ev.Namespace, ev.Reason, ev.Message = "web-0.18a", "shop", "FailedMount", "timed out"
	ev.InvolvedObject = corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web-0", UID: "pod"}
	ev.Source = corev1.EventSource{Component: "kubelet", Host: "a"}
	for _, c := range change {
		c(ev)
	}
	return ev
}

// byController is a report of somebody who is on no node.
func byController(ev *corev1.Event) {
	ev.Source = corev1.EventSource{Component: "attachdetach-controller"}
}

func naming(about api.ProblemAbout, reasons ...string) *api.NodeProblemPolicy {
	p := &api.NodeProblemPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	for _, r := range reasons {
		p.Spec.Rules = append(p.Spec.Rules, api.ProblemRule{KubernetesEvent: &api.KubernetesEventRule{Reason: r, About: &about}})
	}
	return p
}

func TestWhichEventsAboutPodsAreProblems(t *testing.T) {
	one := []string{"report.1"}
	for name, c := range map[string]struct {
		change func(*corev1.Event)
		want   []string
	}{
		"a kubelet's": {func(*corev1.Event) {}, one},
		"a kubelet's, of the newer API": {func(ev *corev1.Event) {
			ev.Source, ev.ReportingController, ev.ReportingInstance = corev1.EventSource{}, "kubelet", "a"
		}, one},
		"a controller's, of a bound pod": {byController, one},
		"of a host that is no node":      {func(ev *corev1.Event) { ev.Source.Host = "elsewhere" }, one},
		"of an earlier pod of the name":  {func(ev *corev1.Event) { byController(ev); ev.InvolvedObject.UID = "before" }, nil},
		"of a pod that is gone":          {func(ev *corev1.Event) { byController(ev); ev.InvolvedObject.Name = "web-9" }, nil},
		"of a pod of another namespace":  {func(ev *corev1.Event) { ev.InvolvedObject.Namespace = "bank" }, nil},
		"of something else":              {func(ev *corev1.Event) { ev.InvolvedObject.Kind = "Deployment" }, nil},
		"what is normal is none":         {func(ev *corev1.Event) { ev.Type = corev1.EventTypeNormal }, nil},
		"told too long ago to be news":   {func(ev *corev1.Event) { ev.CreationTimestamp = metav1.NewTime(sec(-601)) }, nil},
		"of a node that is not there (yet)": {func(ev *corev1.Event) {
			byController(ev)
			ev.InvolvedObject.Name, ev.InvolvedObject.UID = "lost", "lost"
		}, nil},
	} {
		f := newFakeAPI(t)
		f.set(podsURL, podOn("web-0", "pod", "a"))
		f.set(podsURL, podOn("lost", "lost", "z"))
		s := asleep(t, sec(0), "a")
		s.o.Client = f.client()
		kept, err := slim.PodReport(unmounted(1, c.change))
		if err != nil {
			t.Fatal(err)
		}
		s.podProblemWatch(t.Context(), "FailedMount").handler.OnAdd(kept, true)
		if d := cmp.Diff(c.want, s.pendingIDs()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func podOn(name string, uid types.UID, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: uid}, Spec: corev1.PodSpec{NodeName: node}}
}

// TestReportsOfPodsAreHeardWhileAPolicyNamesThem: no policy, no watch.
func TestReportsOfPodsAreHeardWhileAPolicyNamesThem(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	now := func(ev *corev1.Event) { ev.CreationTimestamp = metav1.NewTime(time.Now()) }
	f.set(podEventsURL, unmounted(1, now))
	f.set(rulesURL, naming(api.AboutNode, "FailedMount"))
	s, b := start(t, f, time.Hour)
	watchers := func(n int) func() bool {
		return func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.watchers[podEventsURL]) == n }
	}
	eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.watchers[rulesURL]) == 1 })
	if !watchers(0)() {
		t.Error("Events about Pods are watched, and no policy asks for them")
	}
	f.set(rulesURL, naming(api.AboutPod, "FailedMount"))
	e := b.Next(t)
	var p events.Payload
	if err := e.DataAs(&p); err != nil || e.Type() != events.NodeProblem || e.Subject() != "a" || p.Pod != "shop/web-0" || p.NodeUID != "node-a" {
		t.Errorf("%s %v", e, err)
	}
	f.set(podEventsURL, unmounted(4, now))
	if e := b.Next(t); e.ID() != "report.4" {
		t.Errorf("%s", e)
	}
	if d := cmp.Diff(map[string]float64{"Pod a FailedMount": 4}, s.counts(t)); d != "" {
		t.Error(d)
	}
	eventually(t, watchers(1))
	f.set(rulesURL, naming(api.AboutPod))
	eventually(t, func() bool { s.problems.mu.Lock(); defer s.problems.mu.Unlock(); return len(s.problems.reports) == 0 })
	f.cutWatches(podEventsURL)
	eventually(t, func() bool {
		s.standing.mu.Lock()
		for _, w := range s.standing.of {
			if !w.broken.IsZero() {
				w.broken = s.now().Add(-2 * brokenTooLong)
			}
		}
		s.standing.mu.Unlock()
		return s.unwatched() == nil
	})
}

func TestOnlyProblemsThatAPolicyNamesAreCounted(t *testing.T) {
	s := asleep(t, sec(0), "a")
	s.policy(t.Context(), nil, "p", []nodeproblem.Rule{{About: api.AboutNode, Reason: "TaskHung", Component: "kernel-monitor"}})
	h := s.problemHandler()
	h.OnAdd(hung(3), true)
	h.OnUpdate(hung(3), hung(5))
	h.OnAdd(hung(1, from("other")), true)
	h.OnAdd(hung(1, func(ev *corev1.Event) { ev.Reason = "Whatever" }), true)
	if d := cmp.Diff(map[string]float64{"Node a TaskHung": 3}, s.counts(t)); d != "" {
		t.Error(d)
	}
}

// TestReportsOfAnEarlierNodeAreTold: node-problem-detector keeps the UID of the first Node
// object that it saw. Its reports about that object count for nothing, and only this
// warning says so.
func TestReportsOfAnEarlierNodeAreTold(t *testing.T) {
	var log bytes.Buffer
	s := asleep(t, sec(0), "a", "b")
	s.problems.log = slog.New(slog.NewTextHandler(&log, nil))
	s.problems.named = problemRules{"p": {{About: api.AboutNode, Reason: "TaskHung"}}}
	s.nodes.known["a"] = nodeView{uid: "node-a", created: sec(-300)}
	s.nodes.known["b"] = nodeView{uid: "node-b", created: sec(1)}
	of := func(node string) func(*corev1.Event) {
		return func(ev *corev1.Event) {
			ev.InvolvedObject.Name, ev.InvolvedObject.UID, ev.UID = node, types.UID("before-"+node), types.UID(node)
		}
	}
	h := s.problemHandler()
	h.OnAdd(hung(1, of("a")), true)
	h.OnUpdate(hung(1, of("a")), hung(2, of("a")))
	h.OnAdd(hung(1, of("b")), true) // from before the new Node was there: as it must be
	if d := cmp.Diff(map[string]float64{"EarlierNode a TaskHung": 2, "EarlierNode b TaskHung": 1}, s.counts(t)); d != "" {
		t.Error(d)
	}
	if n := strings.Count(log.String(), "restart the monitor on the node"); n != 1 || !strings.Contains(log.String(), "names=before-a") || s.pendingIDs() != nil {
		t.Errorf("said %d times, sent %v:\n%s", n, s.pendingIDs(), log.String())
	}
}

// counts are the reports that were counted, by what they are about, node and reason.
func (s *Source) counts(t *testing.T) map[string]float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(s.problems.counted)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := ""
			for _, l := range m.GetLabel() { // in the order of their names
				key += " " + l.GetValue()
			}
			all[key[1:]] = m.GetCounter().GetValue()
		}
	}
	return all
}
