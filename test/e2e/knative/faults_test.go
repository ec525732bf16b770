package knative

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/e2e/knative/plane"
	"github.com/nodefence/nodefence/test/rig"
)

// onAnswer calls hook when a function has answered, before the broker hears of
// it. From then on the function has done its part, and its reply is in the air.
func (w *world) onAnswer(function string, hook func()) (back func()) {
	w.t.Helper()
	target := &url.URL{Scheme: "http"}
	p := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(*http.Response) error { hook(); return nil },
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	s := httptest.NewServer(p)
	w.t.Cleanup(s.Close)
	own, back, err := w.Divert(system, function, strings.TrimPrefix(s.URL, "http://"))
	must(w.t, err)
	target.Host = own
	return back
}

// TestADeadProgramLosesRepliesAndNoFence kills each program that events pass
// through, at the moment when a function has answered: its reply, which is the
// next step's event, is lost although the function was told that all is well.
func TestADeadProgramLosesRepliesAndNoFence(t *testing.T) { // S18, S19
	w := newWorld(t)
	w.deploy()
	victim := w.database()
	for _, program := range []string{plane.Dispatcher, plane.Filter, plane.Ingress} {
		t.Run(program, func(t *testing.T) {
			v := *w
			v.t = t
			var once sync.Once
			dead := make(chan time.Time, 1)
			back := v.onAnswer("nodefence-isolate", func() {
				once.Do(func() {
					if err := v.Kill(program); err != nil {
						t.Error(err)
					}
					dead <- time.Now()
				})
			})
			c := v.crash(victim)
			var killed time.Time
			v.until(program+" to be killed in mid-chain", func() (bool, error) {
				select {
				case killed = <-dead:
					return true, nil
				default:
					return false, nil
				}
			})
			back()
			must(t, v.Plane.Start(v.ctx, program))
			restarted := time.Now()
			c.end()
			n, err := v.lost(victim)
			must(t, err)
			t.Logf("%s was away for %.1fs; %.1fs later the fence was at its end; dead letters so far: %d",
				program, restarted.Sub(killed).Seconds(), time.Since(restarted).Seconds(), n)
			victim, err = v.PodRunning(v.ctx, "db-0", "")
			must(t, err)
		})
	}
}

// TestAFunctionIsAway: the broker gives the event up, the dead-letter function
// tells of it, nothing is released meanwhile, and the fence goes on when the
// function is back.
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
	if f.Status.Phase != api.Fencing || f.Status.Release.StartedAt != nil {
		t.Errorf("without the power function the fence is %s, released %v\n%s", f.Status.Phase, f.Status.Release.StartedAt, rig.Story(f))
	}
	if p := w.Pod(w.ctx, "db-0"); p == nil || p.Spec.NodeName != victim {
		t.Errorf("the pod was taken from a machine that nobody has seen off: %v", p)
	}
	must(t, w.Plane.Start(w.ctx, "nodefence-power"))
	c.end()
}

// TestForgedEventsDoNothing: whoever reaches the broker says that healthy nodes
// are fenced, and that one whose BMC hangs is off already.
func TestForgedEventsDoNothing(t *testing.T) { // S18
	w := newWorld(t)
	w.deploy()
	victim := w.database()
	must(t, w.Lab.Fault(victim, "hang"))
	c := w.crash(victim)
	c.reach(api.Fencing)
	before, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	machines, err := w.Lab.Machines()
	must(t, err)
	for node := range machines {
		for _, e := range forgeries(before, node) {
			must(t, w.send(system, broker, e))
		}
	}
	after, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	if d := cmp.Diff(before.Spec, after.Spec); d != "" || after.Status.Phase != api.Fencing || after.Status.Release.StartedAt != nil {
		t.Errorf("the fence is %s\n%s%s", after.Status.Phase, d, rig.Story(after))
	}
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

// forgeries are every event there is about a node, told by somebody who has read
// the record of another's fence.
func forgeries(f *api.NodeFence, node string) (all []event.Event) {
	now := time.Now()
	source := events.SourceOf("forged")
	for _, phase := range api.Phases {
		g := f.DeepCopy()
		g.Spec.Node, g.Status.Phase = node, phase
		all = append(all, source.Phase(g, now, now))
	}
	for _, unhealthy := range []bool{true, false} {
		all = append(all, source.Condition(events.ConditionChange{
			Node: node, NodeUID: string(f.Spec.NodeUID), Condition: "Ready", Status: "Unknown", Since: now, Unhealthy: unhealthy,
		}, now, now))
	}
	return append(all, source.Marked(node, string(f.Spec.NodeUID), string(f.UID), now, now),
		plain("forged-"+node, events.RequestFence, node, `{}`))
}
