package asks

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
	"github.com/nodefence/nodefence/sources/apiserver/outbox/outboxtest"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func one(name, version string, change ...func(*api.FenceRequest)) *api.FenceRequest {
	r := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID("u-" + name), ResourceVersion: version, Generation: 1}}
	for _, c := range change {
		c(r)
	}
	return r
}

func held(r *api.FenceRequest)  { r.Finalizers = []string{api.RequestFinalizer} }
func ended(r *api.FenceRequest) { held(r); r.Status = ask.Refused(r, api.NoPolicy, "no", now) }
func deleted(r *api.FenceRequest) {
	at := metav1.NewTime(now)
	r.DeletionTimestamp, r.Generation = &at, 2
}
func timedOut(r *api.FenceRequest) { r.Annotations = map[string]string{api.TimedOutAnnotation: "x"} }
func spoken(r *api.FenceRequest) {
	held(r)
	r.Status.Conditions = []metav1.Condition{{Type: api.ConditionProcessing, Status: metav1.ConditionTrue}}
}
func another(r *api.FenceRequest) { r.UID = "v" }
func ofB(r *api.FenceRequest)     { r.Spec.NodeName = "b" }

func fence(version string, change func(*api.NodeFenceStatus)) *api.NodeFence {
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f", ResourceVersion: version}}
	f.Status = api.NodeFenceStatus{FenceNumber: 1, Phase: api.Pending, Reason: api.Opened}
	change(&f.Status)
	return f
}

// TestWhoIsWoken: the events that are sent after some changes, the newest about each object. A change is an object, a
// fence, or the name of what is gone.
func TestWhoIsWoken(t *testing.T) {
	waits := fence("1", func(*api.NodeFenceStatus) {})
	for name, c := range map[string]struct {
		changes []any
		want    []string
	}{
		"a new object":                        {[]any{one("a", "1")}, []string{"a u-a.o1"}},
		"of a node by its spec":               {[]any{one("b-x", "1", ofB)}, []string{"b u-b-x.o1"}},
		"one that the function wrote":         {[]any{one("a", "1", held), one("a", "2", spoken)}, []string{"a u-a.o1"}},
		"one that somebody deleted":           {[]any{one("a", "1", held), one("a", "2", held, deleted)}, []string{"a u-a.o2"}},
		"one that took too long":              {[]any{one("a", "1", held), one("a", "2", held, timedOut)}, []string{"a u-a.o2"}},
		"another one of its name":             {[]any{one("a", "1"), one("a", "2", another)}, []string{"a u-a.o1", "a v.o2"}},
		"one that is done with":               {[]any{one("a", "1", ended)}, nil},
		"one that is done with, and deleted":  {[]any{one("a", "1", ended), one("a", "2", ended, deleted)}, []string{"a u-a.o2"}},
		"its node's fence":                    {[]any{one("a", "1"), waits}, []string{"a u-a.f1"}},
		"its node's fence, as it was":         {[]any{waits, one("a", "1"), fence("2", func(*api.NodeFenceStatus) {})}, []string{"a u-a.o1"}},
		"its node's fence in another phase":   {[]any{waits, one("a", "1"), fence("2", func(st *api.NodeFenceStatus) { st.Phase = api.Isolating })}, []string{"a u-a.f2"}},
		"its node's fence, for another cause": {[]any{waits, one("a", "1"), fence("2", func(st *api.NodeFenceStatus) { st.Reason = api.Paused })}, []string{"a u-a.f2"}},
		"its node's next fence":               {[]any{waits, one("a", "1"), fence("2", func(st *api.NodeFenceStatus) { st.FenceNumber = 2 })}, []string{"a u-a.f2"}},
		"another node's fence":                {[]any{one("b", "1"), waits}, []string{"b u-b.o1"}},
		"the record of its node is gone":      {[]any{waits, one("a", "1"), "fence"}, []string{"a u-a.gf"}},
		"done with, and the fence goes on":    {[]any{one("a", "1", ended), waits}, nil},
		"gone, and the fence goes on":         {[]any{one("a", "1", ended), "object", waits}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			b := outboxtest.NewBroker()
			b.Answer = func(e event.Event) error { got = append(got, e.Subject()+" "+e.ID()); return nil }
			out := outbox.New(b, slog.New(slog.DiscardHandler))
			s := New(events.SourceOf("c"), out)
			for _, change := range c.changes {
				switch x := change.(type) {
				case *api.FenceRequest:
					s.Saw(x, now)
				case *api.NodeFence:
					s.Fence(x, now)
				case string:
					if x == "object" {
						s.Gone("n/a")
					} else {
						s.FenceGone("a", now)
					}
				}
			}
			for len(out.Waiting()) > 0 {
				out.SendNext(t.Context())
			}
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
