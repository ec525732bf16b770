package remediation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

var errConflict = errors.New("written meanwhile")

// cluster has one Lease, by compare-and-swap.
type cluster struct {
	lease   *coordinationv1.Lease
	version int
	// requests are the FenceRequests, by namespace/name; unread is why none can be read.
	requests map[string]*api.FenceRequest
	unread   error
	// checks are the NodeHealthChecks, by name; checksUnread is why none can be read.
	checks       map[string]string
	checksUnread error
	// meanwhile is what somebody else does between a read and the write that follows.
	meanwhile func()
	fails     error
}

func (c *cluster) LeaseIn(_ context.Context, namespace, name string) (*coordinationv1.Lease, error) {
	if namespace != "medik8s-leases" || name != "node-a" {
		return nil, fmt.Errorf("%s/%s", namespace, name)
	}
	return c.lease.DeepCopy(), nil
}

func (c *cluster) SaveLease(_ context.Context, l *coordinationv1.Lease) error {
	if c.meanwhile != nil {
		c.meanwhile()
	}
	if c.fails != nil {
		return c.fails
	}
	if is := c.resourceVersion(); l.ResourceVersion != is {
		return errConflict
	}
	c.write(l)
	return nil
}

func (c *cluster) DeleteLease(_ context.Context, l *coordinationv1.Lease) error {
	if l.ResourceVersion == c.resourceVersion() {
		c.lease = nil
	}
	return nil
}

func (c *cluster) FenceRequest(_ context.Context, namespace, name string) (*api.FenceRequest, error) {
	return c.requests[namespace+"/"+name].DeepCopy(), c.unread
}

func (c *cluster) NodeHealthCheck(_ context.Context, name string) (json.RawMessage, error) {
	return json.RawMessage(c.checks[name]), c.checksUnread
}

func (c *cluster) resourceVersion() string {
	if c.lease == nil {
		return ""
	}
	return c.lease.ResourceVersion
}

func (c *cluster) write(l *coordinationv1.Lease) {
	c.version++
	c.lease = l.DeepCopy()
	c.lease.UID, c.lease.ResourceVersion = "1", fmt.Sprint(c.version)
}

func (c *cluster) held(by string, seconds *int32) {
	c.write(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "node-a", Namespace: "medik8s-leases"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &by, LeaseDurationSeconds: seconds}})
}

func (c *cluster) holder() string {
	if c.lease == nil {
		return ""
	}
	return holderOf(c.lease)
}

// world is a process of nodefence beside that Lease.
type world struct {
	*Leases
	c   *cluster
	now time.Duration
}

func newWorld() *world {
	w := &world{c: &cluster{}}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.Leases = &Leases{Cluster: w.c, Namespace: "medik8s-leases", Conflict: errConflict, Now: func() time.Time { return start.Add(w.now) }, Elapsed: func() time.Duration { return w.now }}
	return w
}

func (w *world) take(t *testing.T, asked ...api.AskedBy) string {
	t.Helper()
	f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}}
	f.Status.Decision.AskedBy = asked
	v, err := w.Take(t.Context(), f)
	switch {
	case err != nil:
		return err.Error()
	case v != nil && v.Reason != api.AnotherRemediator:
		t.Errorf("reason %s", v.Reason)
	case v != nil:
		return v.Message
	}
	return ""
}

// askedFor is how a record names a NodeHealthCheck's FenceRequest.
func askedFor(by, request string) api.AskedBy {
	return api.AskedBy{ID: "of-" + request, Source: "/fencerequests/n/" + request, User: "FenceRequest n/" + request + ", owner NodeHealthCheck/" + by}
}

// asks has a FenceRequest there that asks for its fence.
func (c *cluster) asks(name string) *api.FenceRequest {
	r := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID("of-" + name)}}
	if c.requests == nil {
		c.requests = map[string]*api.FenceRequest{}
	}
	c.requests["n/"+name] = r
	return r
}

// TestTwoRemediatorsTakeTurns: a fence waits for whoever holds the node's Lease, and says for whom.
func TestTwoRemediatorsTakeTurns(t *testing.T) {
	hour := int32(3600)
	for name, c := range map[string]struct {
		by    string
		asked []api.AskedBy
		waits bool
		after string
	}{
		"nobody has it":                       {"", nil, false, Holder},
		"nodefence has it":                    {Holder, nil, false, Holder},
		"somebody has it":                     {"node-maintenance", nil, true, "node-maintenance"},
		"a NodeHealthCheck has it":            {"NodeHealthCheck-x", nil, true, "NodeHealthCheck-x"},
		"who has it asked for this fence":     {"NodeHealthCheck-x", []api.AskedBy{askedFor("x", "a")}, false, "NodeHealthCheck-x"},
		"another NodeHealthCheck asked":       {"NodeHealthCheck-x", []api.AskedBy{askedFor("y", "a")}, true, "NodeHealthCheck-x"},
		"a name that ends alike is another's": {"x", []api.AskedBy{askedFor("x", "a")}, true, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.c.asks("a")
			if c.by != "" {
				w.c.held(c.by, &hour)
			}
			says := w.take(t, c.asked...)
			if (says != "") != c.waits || c.waits && !strings.HasPrefix(says, c.by+" works on this node: it holds Lease medik8s-leases/node-a") || w.c.holder() != c.after {
				t.Errorf("%q; then %q has it", says, w.c.holder())
			}
		})
	}
	w := newWorld()
	w.c.held("", &hour)
	if says := w.take(t); says != "" || w.c.holder() != Holder {
		t.Errorf("one that was given up: %q, %q has it", says, w.c.holder())
	}
}

// TestANodeHealthCheckThatAsksNoMoreIsWaitedFor: it holds the Lease also when it has gone on to another
// remediator, and the fence goes on for somebody else, or is tried again. Only a FenceRequest that still
// asks lets the fence pass.
func TestANodeHealthCheckThatAsksNoMoreIsWaitedFor(t *testing.T) {
	hour := int32(3600)
	ended := func(is metav1.ConditionStatus) func(*cluster) {
		return func(c *cluster) {
			c.requests["n/a"].Status.Conditions = []metav1.Condition{{Type: api.ConditionProcessing, Status: metav1.ConditionFalse}, {Type: api.ConditionSucceeded, Status: is}}
		}
	}
	deleted := metav1.Now()
	for name, c := range map[string]struct {
		change func(*cluster)
		source string
		waits  bool
		fails  string
	}{
		"it asks":                  {change: func(*cluster) {}},
		"given up":                 {change: func(c *cluster) { c.requests["n/a"].Annotations = map[string]string{api.TimedOutAnnotation: "x"} }, waits: true},
		"failed":                   {change: ended("False"), waits: true},
		"it has succeeded":         {change: ended("True")}, // the node is not back: the machine may be cut once more
		"being deleted":            {change: func(c *cluster) { c.requests["n/a"].DeletionTimestamp = &deleted }, waits: true},
		"gone":                     {change: func(c *cluster) { delete(c.requests, "n/a") }, waits: true},
		"another one of its name":  {change: func(c *cluster) { c.requests["n/a"].UID = "another" }, waits: true},
		"given up, and asked anew": {change: func(c *cluster) { delete(c.requests, "n/a"); c.asks("b") }},
		"an event of that source":  {change: func(*cluster) {}, source: "/racks/west", waits: true},
		"a source that is no path": {change: func(*cluster) {}, source: "/fencerequests/n/../a", waits: true},
		"it may not be read":       {change: func(c *cluster) { c.unread = apierrors.NewForbidden(schema.GroupResource{}, "a", nil) }, waits: true},
		"nobody knows, and fails":  {change: func(c *cluster) { c.unread = errors.New("no answer") }, fails: "look whether FenceRequest n/a still asks: no answer"},
		"a person has asked as well": {change: func(c *cluster) {
			c.requests["n/a"].Annotations = map[string]string{api.TimedOutAnnotation: "x"}
			c.asks("mine")
		}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.c.held("NodeHealthCheck-x", &hour)
			w.c.asks("a")
			c.change(w.c)
			a := askedFor("x", "a")
			if c.source != "" {
				a.Source = c.source
			}
			says := w.take(t, a, askedFor("x", "b"), api.AskedBy{ID: "of-mine", Source: "/fencerequests/n/mine", User: "ann"})
			if c.fails != "" {
				if says != c.fails {
					t.Errorf("got %q, want %q", says, c.fails)
				}
			} else if waits := strings.HasPrefix(says, "NodeHealthCheck-x works on this node"); waits != c.waits || !waits && says != "" {
				t.Errorf("%q", says)
			}
			if w.c.holder() != "NodeHealthCheck-x" {
				t.Errorf("then %q has it", w.c.holder())
			}
		})
	}
}

// TestALeaseRunsOutByWhatIsSeen: the times in it are not compared with a clock (S30: no decision
// compares the clocks of two machines).
func TestALeaseRunsOutByWhatIsSeen(t *testing.T) {
	w, minute := newWorld(), int32(60)
	w.c.held("other", &minute)
	w.now = time.Hour
	for _, at := range []time.Duration{0, 59 * time.Second} {
		if w.now = time.Hour + at; w.take(t) == "" {
			t.Errorf("taken after %s", at)
		}
	}
	w.c.held("other", &minute) // it is renewed
	for _, at := range []time.Duration{61 * time.Second, 120 * time.Second} {
		if w.now = time.Hour + at; w.take(t) == "" {
			t.Errorf("taken after %s, though it moved", at)
		}
	}
	if w.now = time.Hour + 122*time.Second; w.take(t) != "" || w.c.holder() != Holder || *w.c.lease.Spec.LeaseTransitions != 1 {
		t.Errorf("it ran out, and %q has it", w.c.holder())
	}
	for name, seconds := range map[string]*int32{"no duration": nil, "a duration of none": new(int32)} {
		w := newWorld()
		w.c.held("other", seconds)
		w.take(t)
		if w.now = 1000 * time.Hour; w.take(t) == "" {
			t.Errorf("a Lease of %s ran out", name)
		}
	}
}

// TestOursIsRenewedAndGivenBack, and another's is left alone.
func TestOursIsRenewedAndGivenBack(t *testing.T) {
	w, hour := newWorld(), int32(3600)
	w.take(t)
	was := w.c.version
	for _, c := range []struct {
		at     time.Duration
		writes int
	}{{time.Minute, 0}, {renewAfter, 1}, {renewAfter + time.Minute, 1}, {2 * renewAfter, 2}} {
		w.now = c.at
		if err := w.Renew(t.Context(), "a", true); err != nil || w.c.version-was != c.writes {
			t.Errorf("after %s: %d writes, %v", c.at, w.c.version-was, err)
		}
	}
	if since := w.c.lease.Spec.AcquireTime; !since.Time.Equal(w.Now().Add(-2 * renewAfter)) {
		t.Errorf("held since %v", since)
	}
	if err := w.GiveBack(t.Context(), "a"); err != nil || w.c.lease != nil {
		t.Errorf("given back: %v, %v", w.c.lease, err)
	}
	if err := w.Renew(t.Context(), "a", false); err != nil || w.c.lease != nil {
		t.Errorf("nothing is done to the node: %v, %v", w.c.lease, err)
	}
	if err := w.Renew(t.Context(), "a", true); err != nil || w.c.holder() != Holder {
		t.Errorf("something is done to the node: %q has it, %v", w.c.holder(), err)
	}
	w.c.held("other", &hour)
	was, w.now = w.c.version, time.Hour
	err := errors.Join(w.Renew(t.Context(), "a", true), w.GiveBack(t.Context(), "a"))
	if err != nil || w.c.version != was || w.c.holder() != "other" {
		t.Errorf("another's: %q has it, %v", w.c.holder(), err)
	}
}

// TestALeaseThatCantBeTaken holds the fence, and says why.
func TestALeaseThatCantBeTaken(t *testing.T) {
	w := newWorld()
	w.c.meanwhile = func() { w.c.held("other", nil) }
	if says := w.take(t); says != "somebody has just written Lease medik8s-leases/node-a" || w.c.holder() != "other" {
		t.Errorf("a race that was lost: %q, %q has it", says, w.c.holder())
	}
	w = newWorld()
	w.c.fails = fmt.Errorf("create: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "medik8s-leases"))
	if says := w.take(t); says != `Lease medik8s-leases/node-a can't be taken: create: namespaces "medik8s-leases" not found: create the namespace and the rights, or take NODEFENCE_REMEDIATION_LEASES away` {
		t.Error(says)
	}
	if w.c.fails = errors.New("no answer"); w.take(t) != "no answer" {
		t.Error("an error is no word of the API server")
	}
}

// TestNoLeases: where the settings name none, nobody is waited for.
func TestNoLeases(t *testing.T) {
	var l *Leases
	v, err := l.Take(t.Context(), &api.NodeFence{})
	if v != nil || errors.Join(err, l.Renew(t.Context(), "a", true), l.GiveBack(t.Context(), "a")) != nil {
		t.Error(v, err)
	}
}
