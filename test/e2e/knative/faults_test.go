package knative

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/e2e/knative/plane"
	"github.com/nodefence/nodefence/test/rig"
)

// onAnswer calls hook when a function has answered, before the broker gets the answer. From
// then on the function has done its part, and its reply, an event of that type or none, is
// under way.
func (w *world) onAnswer(function string, hook func(reply string)) (back func()) {
	w.t.Helper()
	target := &url.URL{Scheme: "http"}
	p := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error { hook(r.Header.Get("Ce-Type")); return nil },
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	s := httptest.NewServer(p)
	w.t.Cleanup(s.Close)
	target.Host, _ = w.Address(function)
	back, err := w.Divert(system, function, strings.TrimPrefix(s.URL, "http://"))
	must(w.t, err)
	return back
}

// TestADeadProgramLosesRepliesAndNoFence kills each program that events pass through, at
// the moment when a function has answered. The function's reply, which is the next phase's
// event, is lost although the function was told that all is well. The program stays away
// until three signs of that are seen: the source can't send, or the broker has given an
// event up.
func TestADeadProgramLosesRepliesAndNoFence(t *testing.T) { // S18, S19
	w := newWorld(t)
	w.deploy()
	victim := w.database()
	for _, program := range []string{plane.Dispatcher, plane.Filter, plane.Ingress} {
		t.Run(program, func(t *testing.T) {
			v := *w
			v.t = t
			v.loseIsolatesReply(victim, program)
			var err error
			victim, err = v.PodRunning(v.ctx, "db-0", "")
			must(t, err)
		})
	}
}

func (w *world) loseIsolatesReply(victim, program string) {
	w.t.Helper()
	dead := make(chan struct{})
	die := sync.OnceFunc(func() {
		if err := w.Kill(program); err != nil {
			w.t.Error(err)
		}
		close(dead)
	})
	back := w.onAnswer("nodefence-isolate", func(reply string) {
		if reply == events.OfPhase(api.Fencing) {
			die()
		}
	})
	enough := w.troubles(victim) + 3
	c := w.crash(victim)
	select {
	case <-dead:
	case <-w.ctx.Done():
		w.t.Fatalf("isolate has not answered\n%s", c.story())
	}
	killed := time.Now()
	back()
	w.until("somebody to notice that "+program+" is away", func() (bool, error) { return w.troubles(victim) >= enough, nil })
	must(w.t, w.Plane.Start(w.ctx, program))
	restarted := time.Now()
	f := c.end()
	ended := time.Now()
	lost, err := w.lost(victim)
	must(w.t, err)
	w.t.Logf("%s was away from %s for %.1fs; %.1fs later the fence was at its end; dead letters: %d\n%s", program,
		killed.UTC().Format("15:04:05.000"), restarted.Sub(killed).Seconds(), ended.Sub(restarted).Seconds(), lost, rig.Story(f))
}

// troubles counts the signs that the broker does not work: dead letters about a node, and
// failed tries of the source.
func (w *world) troubles(node string) float64 {
	w.t.Helper()
	lost, err := w.lost(node)
	must(w.t, err)
	return float64(lost) + w.metric("nodefence-source", "nodefence_source_send_failures_total")
}

// metric reads one number of a workload's /metrics.
func (w *world) metric(workload, name string) float64 {
	w.t.Helper()
	addr, err := w.Address(workload)
	must(w.t, err)
	r, err := http.Get("http://" + addr + "/metrics")
	must(w.t, err)
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	must(w.t, err)
	for l := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(l, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			must(w.t, err)
			return n
		}
	}
	w.t.Fatalf("%s has no metric %s", workload, name)
	return 0
}

// TestAFunctionIsAway: the broker gives the event up, the dead-letter function reports it,
// nothing is released meanwhile, and the fence continues when the function is back.
func TestAFunctionIsAway(t *testing.T) { // S1, S19
	w := newWorld(t)
	w.deploy()
	victim := w.database()
	must(t, w.Kill("nodefence-power"))
	c := w.crash(victim)
	w.until("a dead letter to be told of", func() (bool, error) {
		n, err := w.lost(victim)
		return n > 0, err
	})
	f, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	w.unreleased(f)
	must(t, w.Plane.Start(w.ctx, "nodefence-power"))
	c.end()
}

// unreleased checks that nothing was released of a machine that nobody has seen off.
func (w *world) unreleased(f *api.NodeFence) {
	w.t.Helper()
	if phase := f.Status.Phase; (phase != api.Isolating && phase != api.Fencing) || f.Status.Release.StartedAt != nil {
		w.t.Errorf("the fence is %s, released %v\n%s", phase, f.Status.Release.StartedAt, rig.Story(f))
	}
	if p := w.Pod(w.ctx, "db-0"); p == nil || p.Spec.NodeName != f.Spec.NodeName {
		w.t.Errorf("the pod was taken: %v", p)
	}
	if _, taints, err := w.Marks(w.ctx, f.Spec.NodeName); err != nil || slices.Contains(taints, api.OutOfServiceTaint) {
		w.t.Errorf("taints %v: %v", taints, err)
	}
}

// TestForgedEventsDoNothing: somebody who reaches the broker claims that healthy nodes are
// fenced, and that a node whose BMC hangs is already off.
func TestForgedEventsDoNothing(t *testing.T) { // S18
	w := newWorld(t)
	w.deploy()
	// The node's device fails during the whole test, and the flow does not start again.
	must(t, w.Apply(w.ctx, rig.Policy("default", strings.Replace(quick, "restarts: 100", "restarts: 100, attempts: 100", 1))))
	victim := w.database()
	must(t, w.Lab.Fault(victim, "hang"))
	c := w.crash(victim)
	c.reach(api.Fencing)
	before, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	machines, err := w.Lab.Machines()
	must(t, err)
	var handled atomic.Int64
	for _, f := range []string{"gate", "isolate", "power", "cleanup", "recover"} {
		w.onAnswer("nodefence-"+f, func(string) { handled.Add(1) })
	}
	sent := 0
	for node := range machines {
		for _, e := range forgeries(before, node) {
			must(t, w.send(system, broker, e))
			if e.Type() != events.OfPhase(api.Finished) { // goes to nobody
				sent++
			}
		}
	}
	w.until("the functions to have looked at every forgery", func() (bool, error) { return handled.Load() >= int64(sent), nil })
	after, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	if d := cmp.Diff(before.Spec, after.Spec); d != "" {
		t.Errorf("the fence's spec changed:\n%s", d)
	}
	w.unreleased(after)
	fences, err := w.Fences.Fences(w.ctx)
	must(t, err)
	if len(fences) != 1 {
		t.Errorf("%d nodes are fenced, one has failed", len(fences))
	}
	for node := range machines {
		if words, err := w.Lab.Words(node); err != nil || words != "" {
			t.Errorf("the BMC of %s was told %q: %v", node, words, err)
		}
		if node != victim {
			w.unmarked(node)
		}
	}
	must(t, w.Lab.Fault(victim, "none"))
	c.end()
}

// forgeries are all kinds of events about a node, sent by somebody who has read the record of
// another node's fence.
func forgeries(f *api.NodeFence, node string) (all []event.Event) {
	now := time.Now()
	source := events.SourceOf("forged")
	for _, phase := range api.Phases {
		g := f.DeepCopy()
		g.Spec.NodeName, g.Status.Phase = node, phase
		all = append(all, source.Phase(g, now, now))
	}
	for _, unhealthy := range []bool{true, false} {
		all = append(all, source.Condition(events.ConditionChange{
			Node: node, NodeUID: string(f.Status.Decision.NodeUID), Condition: "Ready", Status: "Unknown", Since: now, Unhealthy: unhealthy,
		}, now, now))
	}
	return append(all, source.Marked(node, string(f.Status.Decision.NodeUID), string(f.UID), now, now),
		plain("forged-"+node, events.RequestFence, node, `{}`))
}
