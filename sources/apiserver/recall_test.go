package apiserver

import (
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/sources/apiserver/outbox/outboxtest"
)

// TestAProblemThatFencesIsToldAgain at each resync while the report is recent and its node
// has no open fence: its event may have been lost, and nobody reports the problem a second
// time (S19).
func TestAProblemThatFencesIsToldAgain(t *testing.T) {
	again := func(count, at int) []string {
		return []string{fmt.Sprintf("report.%d.r%d", count, sec(float64(at)).Truncate(30*time.Second).UnixMicro())}
	}
	fencing := []nodeproblem.Rule{{About: api.AboutNode, Reason: "TaskHung", Action: api.ProblemAsk}}
	open := func(s *Source) { s.fence(fenceOf("")) }
	for name, c := range map[string]struct {
		problems []nodeproblem.Rule
		then     func(s *Source)
		at       int
		want     []string
	}{
		"at the resync":                 {fencing, nil, 30, again(1, 30)},
		"at a later one":                {fencing, nil, 590, again(1, 590)},
		"not once it is history":        {fencing, nil, 660, nil},
		"not what is only told":         {[]nodeproblem.Rule{{About: api.AboutNode, Reason: "TaskHung", Action: api.ProblemAlert}}, nil, 30, nil},
		"not what moves Pods":           {[]nodeproblem.Rule{{About: api.AboutNode, Reason: "TaskHung", Action: api.ProblemEvict}}, nil, 30, nil},
		"not what another one reports":  {[]nodeproblem.Rule{{About: api.AboutNode, Reason: "TaskHung", Component: "x", Action: api.ProblemAsk}}, nil, 30, nil},
		"not of another kind":           {[]nodeproblem.Rule{{Reason: "TaskHung", About: api.AboutPod, Action: api.ProblemAsk}}, nil, 30, nil},
		"not what no policy names":      {nil, nil, 30, nil},
		"as it was said last":           {fencing, func(s *Source) { s.problemHandler().OnUpdate(hung(1), hung(4)) }, 30, again(4, 30)},
		"not while a fence is open":     {fencing, open, 30, nil},
		"not of a node that is gone":    {fencing, func(s *Source) { s.nodes.gone("a") }, 30, nil},
		"not of another Node object":    {fencing, func(s *Source) { s.nodes.known["a"] = nodeView{uid: "another"} }, 30, nil},
		"not once its fence is deleted": {fencing, func(s *Source) { s.fenceHandler().OnDelete(fenceOf("")) }, 30, nil},
		"once a fence has ended": {fencing, func(s *Source) {
			open(s)
			s.fence(fenceOf("", func(f *api.NodeFence) { f.Status.Phase = api.Finished }))
		}, 30, again(1, 30)},
	} {
		s := asleep(t, sec(0), "a")
		s.problemHandler().OnAdd(hung(1), true) // before the policy is seen
		s.problems.named["p"] = c.problems
		if c.then != nil {
			c.then(s)
		}
		drain(s.outbox)
		s.o.Sender.(*outboxtest.Broker).IDs()
		s.now = func() time.Time { return sec(float64(c.at)) }
		s.resync()
		if d := cmp.Diff(c.want, s.pendingIDs()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if c.at > 600 && len(s.problems.recall) > 0 {
			t.Errorf("%s: kept for ever: %v", name, s.problems.recall)
		}
	}
}

// TestAReportWhoseEventWasLostComesAgain, from the API server to the broker.
func TestAReportWhoseEventWasLostComesAgain(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	p := naming(api.AboutNode, "TaskHung")
	asks := api.ProblemAsk
	p.Spec.Rules[0].Action = &asks
	f.set(rulesURL, p)
	f.set(eventsURL, hung(2, func(ev *corev1.Event) { ev.CreationTimestamp = metav1.NewTime(time.Now()) }))
	_, b := start(t, f, 100*time.Millisecond)
	first := b.Next(t)
	e := b.Until(t, func(e event.Event) bool { return e.ID() != first.ID() })
	var was, is events.Payload
	if err := first.DataAs(&was); err != nil {
		t.Fatal(err)
	}
	if err := e.DataAs(&is); err != nil {
		t.Fatal(err)
	}
	if is.Due == "" {
		t.Error("nothing says that it is told again")
	}
	is.Due = ""
	if d := cmp.Diff(was, is); d != "" || e.Type() != events.NodeProblem {
		t.Errorf("%s: %s", e.Type(), d)
	}
}

// TestInventedProblemsDisplaceNoneThatAsks: the room for one node's problems is bounded, and what
// asks for a fence gives way last (S19).
func TestInventedProblemsDisplaceNoneThatAsks(t *testing.T) {
	r, asks := recall{}, func(of problemOf) bool { return of.reason == "TaskHung" }
	report := func(node, reason string) events.ProblemReport {
		return events.ProblemReport{Node: node, NodeUID: "u", Reason: reason}
	}
	r.keep(api.AboutNode, report("a", "TaskHung"), sec(0), asks)
	r.keep(api.AboutNode, report("b", "Other"), sec(0), asks)
	for i := range 3 * mostRecalled {
		r.keep(api.AboutNode, report("a", fmt.Sprint("invented-", i)), sec(float64(i+1)), asks)
	}
	_, asking := r["a"][problemOf{"a", api.AboutNode, "TaskHung", ""}]
	_, newest := r["a"][problemOf{"a", api.AboutNode, fmt.Sprint("invented-", 3*mostRecalled-1), ""}]
	if len(r["a"]) != mostRecalled || len(r["b"]) != 1 || !asking || !newest {
		t.Errorf("%d of a, %d of b, the one that asks %t, the newest %t", len(r["a"]), len(r["b"]), asking, newest)
	}
}
