package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/run"
)

const (
	ofFence   = "/apis/nodefence.io/v1alpha1/nodefences/a"
	ofRequest = "/apis/nodefence.io/v1alpha1/namespaces/own/fencerequests/a"
)

// asked is a cluster in which a FenceRequest asks for the fence of node a, with the functions
// that work on it.
type asked struct {
	*objects
	gate, request run.Handler
	source        events.Source
	named         events.ObjectReference
}

func newAsked(t *testing.T, record string) *asked {
	t.Helper()
	o := &objects{all: map[string]map[string]any{}}
	p, err := NewParts(t.Context(), Settings{Cluster: "c", Self: NoNode, Namespace: "own", RequestNamespaces: ask.Namespaces{"own"}},
		kubetest.Serve(t, o), slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	all := Handlers(p)
	a := &asked{objects: o, gate: all["gate"], request: all["request"], source: p.Source, named: events.ObjectReference{Namespace: "own", Name: "a", UID: "u"}}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	o.put("/api/v1/nodes/a", node)
	o.put("/apis/nodefence.io/v1alpha1/fencepolicies/p", map[string]any{
		"metadata": map[string]any{"name": "p"},
		"spec":     map[string]any{"selector": map[string]any{}, "mode": "RequireApproval", "action": "Reboot"},
	})
	o.put("/apis/nodefence.io/v1alpha1/fenceledgers/cluster", api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}})
	o.put(ofRequest, api.FenceRequest{ObjectMeta: metav1.ObjectMeta{
		Namespace: "own", Name: "a", UID: "u", Finalizers: []string{api.RequestFinalizer}, CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Minute)),
	}})
	if record != "" {
		var f map[string]any
		if err := json.Unmarshal([]byte(record), &f); err != nil {
			t.Fatal(err)
		}
		o.put(ofFence, f)
	}
	return a
}

// withdraw deletes the FenceRequest, which its finalizer keeps, or gives it up as NodeHealthCheck
// does.
func (a *asked) withdraw(timedOut bool) { a.withdrawAt(ofRequest, timedOut) }

// withdrawAt does that to the FenceRequest of that path.
func (a *asked) withdrawAt(path string, timedOut bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.all[path]
	if m == nil {
		return
	}
	if meta := m["metadata"].(map[string]any); timedOut {
		meta["annotations"] = map[string]any{api.TimedOutAnnotation: "now"}
	} else {
		meta["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	raw, _ := json.Marshal(m)
	a.store(path, raw)
}

// look has the function request look at the object until nobody writes beside it.
func (a *asked) look(t *testing.T) *event.Event {
	for {
		reply, err := a.request(t.Context(), a.source.FenceRequestChanged("a", a.named, "x", time.Now()))
		if errors.Is(err, run.ErrAgain) {
			continue
		}
		if err != nil {
			t.Error(err)
		}
		return reply
	}
}

// ask has the gate handle the event, as often as a broker brings it again.
func (a *asked) ask(t *testing.T) {
	e := events.RequestByObject("a", "/fencerequests/own/a", a.named, time.Now(), time.Now())
	for {
		if _, err := a.gate(t.Context(), e); errors.Is(err, run.ErrAgain) {
			continue
		} else if err != nil && !strings.Contains(err.Error(), "look at a") {
			t.Error(err)
		}
		return
	}
}

func (a *asked) fence() (f api.NodeFence) {
	a.mu.Lock()
	defer a.mu.Unlock()
	raw, _ := json.Marshal(a.all[ofFence])
	_ = json.Unmarshal(raw, &f)
	return f
}

// stands tells how the node's record stands: without the request, with it, or aborted.
func (a *asked) stands() string {
	f := a.fence()
	asks := false
	for _, r := range f.Status.Decision.AskedBy {
		asks = asks || r.ID == "u" && r.Source == "/fencerequests/own/a"
	}
	switch abort := f.Requests().Abort; {
	case !asks || !f.Open():
		return "not asked"
	case abort != nil && abort.By == "me" && *abort.FenceNumber == f.Status.FenceNumber:
		return "aborted"
	}
	return "asked"
}

// TestAWithdrawnRequestOpensNoFence, whenever it is withdrawn while the gate works on it: a fence
// that opened or was joined all the same is aborted before our finalizer comes off (S17: a fence
// whose reason has gone is called off, S18: events come in any order).
func TestAWithdrawnRequestOpensNoFence(t *testing.T) {
	stamp := metav1.NewMicroTime(time.Now().Add(-time.Hour)).UTC().Format("2006-01-02T15:04:05.000000Z")
	const meta = `"metadata":{"name":"a","uid":"f","finalizers":["nodefence.io/undo"]},"spec":{"nodeName":"a"}`
	const condition = `{` + meta + `,"status":{"fenceNumber":2,"decision":{"nodeUID":"1","trigger":{"type":"NodeCondition","nodeCondition":{"type":"Ready","status":"Unknown"}}},"phase":"Pending","nextLook":"2126-01-01T00:00:00.000000Z","phaseSince":"%[1]s","openedAt":"%[1]s"}}`
	for name, c := range map[string]struct {
		record   string
		timedOut bool
	}{
		"no record":              {"", false},
		"no record, timed out":   {"", true},
		"no fence":               {`{` + meta + `}`, false},
		"a record":               {fmt.Sprintf(`{`+meta+`,"status":{"fenceNumber":2,"decision":{"nodeUID":"1"},"phase":"Finished","outcome":"Recovered","phaseSince":"%[1]s","openedAt":"%[1]s"}}`, stamp), false},
		"a condition":            {fmt.Sprintf(condition, stamp), false},
		"a condition, timed out": {fmt.Sprintf(condition, stamp), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for k, more := 1, true; more; k++ {
				is := ""
				is, more = withdrawnAt(t, k, c.record, c.timedOut)
				if seen[is]++; is != "not asked" && is != "aborted" {
					t.Errorf("withdrawn before request %d of the gate: %s", k, is)
				}
			}
			if seen["not asked"] == 0 || seen["aborted"] == 0 {
				t.Errorf("seen: %v", seen)
			}
		})
	}
}

// withdrawnAt has a request withdrawn before request k of the gate's, and tells how its node's
// record stands in the end, and whether the gate made so many requests.
func withdrawnAt(t *testing.T, k int, record string, timedOut bool) (is string, more bool) {
	a := newAsked(t, record)
	n := 0
	a.before = func(r *http.Request) {
		if !strings.Contains(r.UserAgent(), "/gate") {
			return
		}
		if n++; n == k {
			more = true
			a.withdraw(timedOut)
			a.look(t)
		}
	}
	a.ask(t)
	a.before = nil
	if !more {
		a.withdraw(timedOut)
	}
	a.look(t)
	is = a.stands()
	if is == "not asked" && !timedOut && a.version(ofRequest) != "" {
		is += ", and the object is there"
	}
	return is, more
}

// TestARequestIsServedOnce, whatever events name it: by another ID, another source, or after its
// fence has ended (S7: duplicates are one).
func TestARequestIsServedOnce(t *testing.T) {
	a := newAsked(t, "")
	a.ask(t)
	if is := a.stands(); is != "asked" {
		t.Fatal(is)
	}
	for range 2 {
		a.ask(t)
		if f := a.fence(); len(f.Status.Decision.AskedBy) != 1 || f.Status.FenceNumber != 1 {
			t.Errorf("%+v", f.Status.Decision.AskedBy)
		}
	}
	if reply := a.look(t); reply != nil {
		t.Errorf("the gate is asked again: %v", reply)
	}
	// Its fence ends, and an event of it comes late.
	f := a.fence()
	f.Status.Phase, f.Status.Outcome, f.Spec.Requests = api.Finished, api.RequestExpired, api.Requests{}
	a.put(ofFence, f)
	a.ask(t)
	if f := a.fence(); f.Open() || f.Status.FenceNumber != 1 {
		t.Errorf("another fence opened: %+v", f.Status)
	}
}

// TestTwoAreWithdrawn, of which one was never answered: whichever is looked at first, the fence of the other
// one counts as ended by a withdrawal, and not by a person.
func TestTwoAreWithdrawn(t *testing.T) {
	const other = "/apis/nodefence.io/v1alpha1/namespaces/own/fencerequests/a-x"
	answered := events.ObjectReference{Namespace: "own", Name: "a", UID: "u"}
	refused := events.ObjectReference{Namespace: "own", Name: "a-x", UID: "u0"}
	for name, order := range map[string][]events.ObjectReference{
		"the one with a fence first": {answered, refused}, "the one without a fence first": {refused, answered},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsked(t, "")
			a.ask(t)
			a.put(other, api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "a-x", UID: "u0", Finalizers: []string{api.RequestFinalizer}}, Spec: api.FenceRequestSpec{NodeName: "a"}})
			a.withdraw(false)
			a.withdrawAt(other, false)
			for range 2 {
				for _, a.named = range order {
					a.look(t)
				}
			}
			f := a.fence()
			f.Status.Phase, f.Status.Outcome = api.Finished, api.Aborted
			if !f.EndedByWithdrawal() || f.EndedByAPerson() || f.LastAnswer() != nil {
				t.Errorf("marked %q, asked for by %+v", f.Annotations[api.WithdrawnAnnotation], f.Status.Decision.AskedBy)
			}
			if abort := f.Requests().Abort; abort == nil || a.version(other) != "" {
				t.Errorf("abort %+v; the other object has version %q", abort, a.version(other))
			}
		})
	}
}
