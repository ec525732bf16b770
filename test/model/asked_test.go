package model

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	requester "github.com/nodefence/nodefence/functions/request"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
)

const (
	// asksIn is the namespace whose FenceRequests count.
	asksIn = "model"
	asks   = "/apis/nodefence.io/v1alpha1/namespaces/" + asksIn + "/fencerequests/"

	withdrawn promise = "no Off once a FenceRequest says that it was withdrawn before anything was done"
)

// named is the FenceRequest of a node, as events name it.
func named(node string) events.ObjectReference {
	return events.ObjectReference{Namespace: asksIn, Name: node, UID: "request-" + node}
}

// ask creates the FenceRequest of a healthy node.
func (w *world) ask(node string, again bool) {
	at := metav1.NewTime(epoch)
	w.put(asks+node, decode(encode(api.FenceRequest{ObjectMeta: metav1.ObjectMeta{
		Namespace: asksIn, Name: node, UID: types.UID(named(node).UID), Generation: 1, CreationTimestamp: at,
	}})))
	if again {
		w.put(fences+node, decode(encode(api.NodeFence{
			ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("uid-" + node)}, Spec: api.NodeFenceSpec{NodeName: node},
			Status: api.NodeFenceStatus{FenceNumber: 1, Phase: api.Finished, Outcome: api.Recovered, PhaseSince: stamp(-silence), Decision: api.Decision{
				NodeUID: types.UID("uid-" + node), Trigger: api.Trigger{Type: api.TriggerRequest, Since: *stamp(-silence)},
			}},
		})))
	}
	w.send(delivery{events.FenceRequestChanged, node})
}

// withdraw is what NodeHealthCheck does to one that took too long.
func (w *world) withdraw(node string) {
	m := decode(w.at(asks + node).raw)
	m["metadata"] = merge(m["metadata"].(fields), fields{"annotations": fields{api.TimedOutAnnotation: "now"}})
	w.put(asks+node, m)
	w.send(delivery{events.FenceRequestChanged, node})
}

// asked is the FenceRequest of a node; nil if it has none.
func (w *world) asked(node string) *api.FenceRequest { return read[api.FenceRequest](w, asks+node) }

// answered notes the node of a FenceRequest that says that it was withdrawn before its fence had
// done anything, and before an Off was claimed (S17: a fence whose reason is gone is called off).
func (c *watch) answered(w *world, r request) {
	node, is := strings.CutPrefix(strings.TrimSuffix(r.path, "/status"), asks)
	if !is || c.calledOff != "" {
		return
	}
	f := w.fence(node)
	begun := f != nil && f.Open() && (f.Status.CutOrReleased || f.Status.Begun() || f.Status.Claim != nil && f.Status.Claim.Call == api.CallOff)
	if o := w.asked(node); ask.Ended(o) && ask.TimedOut(o) && !begun && w.machine(node).offs == 0 {
		c.calledOff = node
	}
}

// requests is the client of the function request. Its account has a name.
type requests struct{ *kube.Client }

func (requests) WhoAmI(context.Context) (string, error) { return "request", nil }

func (p process) requester(c *kube.Client, o requester.Objects) *requester.Requester {
	return &requester.Requester{Objects: o, Namespaces: ask.Namespaces{asksIn}, Now: c.Clock().Now, Log: slog.New(slog.DiscardHandler), Reporter: silent{}}
}

// markless does not mark the record of a request that was withdrawn before it had a fence.
type markless struct{ requests }

func (markless) MarkWithdrawn(_ context.Context, f *api.NodeFence, uid types.UID) (*api.NodeFence, error) {
	f = f.DeepCopy()
	f.Annotations = map[string]string{api.WithdrawnAnnotation: string(uid)}
	return f, nil
}

// abortless does not abort the fence of a request that was withdrawn.
type abortless struct{ requests }

func (abortless) AbortWithdrawn(_ context.Context, f *api.NodeFence, _ types.UID, abort api.AbortRequest) (*api.NodeFence, error) {
	f = f.DeepCopy()
	f.Spec.Requests.Abort = &abort
	return f, nil
}

// withRequests is the shipped code with another client of the function request.
func withRequests(of func(requests) requester.Objects) code {
	return func(p process, name string) run.Handler {
		if name != requester.Name {
			return shipped(p, name)
		}
		c := p.client()
		return p.requester(c, of(requests{c})).Handle
	}
}

// asking is the scenario of a healthy node whose fence an object asks for.
func asking(again bool) scenario {
	sc := crowd()
	sc.nodes, sc.dead, sc.procs, sc.asks, sc.again, sc.hazardIn = 3, 0, 4, "a", again, 8
	sc.fine = append(sc.fine, requester.Name)
	return sc
}

// TestRandomSchedulesOfARequest: an object asks for the fence of a healthy node, which has a record
// or none, and is withdrawn at any time (S17: a fence whose reason is gone is called off).
func TestRandomSchedulesOfARequest(t *testing.T) {
	t.Run("first", func(t *testing.T) { goThrough(t, asking(false), *schedules) })
	t.Run("again", func(t *testing.T) { goThrough(t, asking(true), *schedules) })
}

// TestBrokenTwinsOfARequest: a function that lets a withdrawal pass is caught.
func TestBrokenTwinsOfARequest(t *testing.T) {
	for name, of := range map[string]func(requests) requester.Objects{
		"does not mark the record": func(r requests) requester.Objects { return markless{r} },
		"does not abort the fence": func(r requests) requester.Objects { return abortless{r} },
	} {
		t.Run(name, func(t *testing.T) {
			sc := with(asking(true), withRequests(of))
			sc.only = withdrawn
			sc.policy.Spec.Drain = &api.Drain{Timeout: api.DurationOf(0)} // a drain leaves time for the withdrawal
			for i := range uint64(3000) {
				x := newExplorer(sc)
				s, schedule := x.random(i + 1)
				if s.watch.broken != "" {
					t.Logf("schedule %d: %s", i, x.story(schedule))
					x.code.close()
					return
				}
				x.code.close()
			}
			t.Fatal("not caught")
		})
	}
}
