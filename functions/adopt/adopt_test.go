package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube"
)

// cluster has what the function reads and writes. Each write may fail.
type cluster struct {
	served bool
	object *far.Object
	// other is an object that another process has taken up, in another namespace.
	other *far.Object
	// unread is a namespace that can't be read.
	unread   string
	request  *api.FenceRequest
	node     *corev1.Node
	fence    *api.NodeFence
	policies []api.FencePolicy
	leases   []coordinationv1.Lease
	events   []string
	// apart are objects in namespaces that do not count, which can't be read while there is apartErr; told
	// are the Events about each object, one a line, but for those of namespace refuses; looks counts the lists.
	apart    []far.Object
	apartErr error
	// apartTemplates are such templates, which can't be read while there is templatesErr.
	apartTemplates []metav1.ObjectMeta
	templatesErr   error
	refuses        string
	told           []string
	looks          int
	// stood are the conditions that the object had, one after the other.
	stood []string
	// writes are the names of all writes; the one of number dies fails, from 1.
	writes []string
	dies   int
	// changes does something to the cluster after the write of that name.
	changes map[string]func()
	// read does something to the cluster once all that belongs to an object was read.
	read func()
	sampling
	// silent names a webhook that does not answer: no change of the object is let through.
	silent string
}

var errDied = errors.New("the process died")

func (c *cluster) write(what string, do func()) error {
	c.writes = append(c.writes, what)
	if len(c.writes) == c.dies {
		return errDied
	}
	do()
	if change := c.changes[what]; change != nil {
		change()
	}
	return nil
}

func (c *cluster) FARs(_ context.Context, namespace string) ([]far.Object, bool, error) {
	if namespace == c.unread {
		return nil, false, errDied
	}
	var all []far.Object
	for _, o := range []*far.Object{c.object, c.other} {
		if c.served && o != nil && o.Namespace == namespace {
			all = append(all, *o)
		}
	}
	return all, c.served, nil
}

// AllFARs has of each object its metadata alone.
func (c *cluster) AllFARs(_ context.Context, kind string) (all []metav1.ObjectMeta, err error) {
	if kind == far.TemplateKind {
		return c.apartTemplates, c.templatesErr
	}
	c.looks++
	for _, o := range append([]far.Object{*cmp.Or(c.object, &far.Object{})}, c.apart...) {
		if o.UID != "" {
			all = append(all, o.ObjectMeta)
		}
	}
	return all, c.apartErr
}

func (c *cluster) LeasesNamed(_ context.Context, name string) ([]coordinationv1.Lease, error) {
	if name != "cb305759.medik8s.io" {
		return nil, fmt.Errorf("lease %s", name)
	}
	return c.leases, nil
}

func (c *cluster) Node(_ context.Context, name string) (*corev1.Node, error) {
	if c.node == nil || c.node.Name != name {
		return nil, nil
	}
	return c.node.DeepCopy(), nil
}
func (c *cluster) Policies(context.Context) ([]api.FencePolicy, error) {
	if c.read != nil {
		c.read()
	}
	return c.policies, nil
}
func (c *cluster) Fence(context.Context, string) (*api.NodeFence, error) {
	return c.fence.DeepCopy(), nil
}

func (c *cluster) FenceRequest(_ context.Context, namespace, name string) (*api.FenceRequest, error) {
	if c.request == nil || c.request.Namespace != namespace || c.request.Name != name {
		return nil, nil
	}
	return c.request.DeepCopy(), nil
}

func (c *cluster) CreateFenceRequest(_ context.Context, r *api.FenceRequest) error {
	if c.request != nil {
		return kube.ErrConflict
	}
	return c.write("ask", func() { r.UID = "r"; c.request = r })
}

func (c *cluster) DeleteFenceRequest(_ context.Context, r *api.FenceRequest) error {
	return c.write("withdraw", func() { c.request = nil })
}

func (c *cluster) TimeOutFenceRequest(_ context.Context, r *api.FenceRequest, _ string) error {
	return c.write("time out", func() { c.request.Annotations = map[string]string{api.TimedOutAnnotation: "x"} })
}

func (c *cluster) SaveFARStatus(_ context.Context, o *far.Object, st far.Status) (*far.Object, error) {
	err := c.write("status", func() {
		c.object.Status = st
		words := ""
		for _, typ := range []string{"Processing", "FenceAgentActionSucceeded", "Succeeded"} {
			words += string(meta.FindStatusCondition(st.Conditions, typ).Status)[:1]
		}
		c.stood = append(c.stood, words)
	})
	is := *c.object
	return &is, err
}

func (c *cluster) HoldFAR(_ context.Context, o *far.Object, node string, hold bool) (*far.Object, error) {
	if c.silent != "" {
		return nil, fmt.Errorf("patch a: %w", apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: failed to call webhook: no endpoints", c.silent)))
	}
	what := map[bool]string{true: "hold", false: "let go"}[hold]
	err := c.write(what, func() {
		if c.object.Finalizers = nil; hold {
			c.object.Finalizers = []string{far.Finalizer}
			c.object.Annotations = map[string]string{far.KeptNode: node}
		} else if c.object.DeletionTimestamp != nil {
			c.object = nil
		}
	})
	if c.object == nil {
		return o, err
	}
	is := *c.object
	return &is, err
}

func (c *cluster) MarkFAR(_ context.Context, node string, _ types.UID, placed bool) error {
	return c.write(map[bool]string{true: "mark", false: "unmark"}[placed], func() {
		if c.node.Spec.Taints = nil; placed {
			c.node.Spec.Taints = []corev1.Taint{{Key: far.Taint, Effect: corev1.TaintEffectNoSchedule}}
		}
	})
}

func (c *cluster) TellFAR(_ context.Context, kind string, o *metav1.ObjectMeta, e far.Event, _ string) error {
	if o.Namespace == c.refuses {
		return errDied
	}
	word := map[string]string{far.TemplateKind: "template "}[kind]
	c.told = append(c.told, word+o.Namespace+"/"+o.Name+" "+e.Reason)
	if words := e.Reason + ": " + e.Message; !slices.Contains(c.events, words) {
		c.events = append(c.events, words)
	}
	return nil
}

func newCluster() *cluster {
	o := &far.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "12345678-x", OwnerReferences: []metav1.OwnerReference{{APIVersion: "remediation.medik8s.io/v1alpha1", Kind: "NodeHealthCheck", Name: "nhc", UID: "h"}}}}
	o.Spec = far.Spec{Agent: "fence_ipmilan", NodeParameters: map[string]map[string]string{"--ip": {"a": "192.0.2.1"}}}
	return &cluster{
		served: true, object: o, node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}},
		policies: []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Action: api.ActionReboot}}},
	}
}

func (c *cluster) adopter(log *strings.Builder, elapsed *time.Duration) *Adopter {
	return &Adopter{
		Objects: c, Namespaces: ask.Namespaces{"n", "m"}, Log: slog.New(slog.NewTextHandler(log, nil)),
		Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }, Elapsed: func() time.Duration { return *elapsed },
	}
}

// answer is what the function request writes into the FenceRequest.
func (c *cluster) answer(is string) {
	status := map[byte]metav1.ConditionStatus{'T': "True", 'F': "False", 'U': "Unknown"}
	for i, typ := range []string{api.ConditionProcessing, api.ConditionFenceActionSucceeded, api.ConditionSucceeded} {
		meta.SetStatusCondition(&c.request.Status.Conditions, metav1.Condition{Type: typ, Status: status[is[i]], Reason: "RemediationStarted", Message: "so"})
	}
}

// whole has the object answered and then deleted, with looks in between. Each look may end at a
// write that fails, and is then repeated by another process.
func (c *cluster) whole(t *testing.T) {
	t.Helper()
	look := func() {
		for range 3 {
			if err := c.adopter(new(strings.Builder), new(time.Duration)).Look(t.Context()); err != nil && !errors.Is(err, errDied) {
				t.Fatal(err)
			}
		}
	}
	look()
	for _, is := range []string{"TUU", "TTU", "FTT"} {
		c.answer(is)
		look()
	}
	at := metav1.Now()
	c.object.DeletionTimestamp = &at
	look()
}

// TestAnObjectIsAnswered, whichever write fails: the same conditions in the same order, one
// FenceRequest, and nothing is left.
func TestAnObjectIsAnswered(t *testing.T) {
	c := newCluster()
	c.whole(t)
	if got, want := strings.Join(c.writes, ", "), "hold, status, mark, ask, status, status, withdraw, unmark, let go"; got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
	for dies := 1; dies <= len(c.writes); dies++ {
		c := newCluster()
		c.dies = dies
		c.whole(t)
		if got := strings.Join(c.stood, " "); got != "TUU TTU FTT" {
			t.Errorf("after write %d failed it stood at %s", dies, got)
		}
		if c.object != nil || c.request != nil || len(c.node.Spec.Taints) > 0 {
			t.Errorf("after write %d failed there is left: %v, %v, %v", dies, c.object, c.request, c.node.Spec.Taints)
		}
		asked := 0
		for _, w := range c.writes {
			if w == "ask" {
				asked++
			}
		}
		if asked > 1 && c.writes[dies-1] != "ask" {
			t.Errorf("after write %d failed it asked %d times", dies, asked)
		}
		if len(c.events) != 2 {
			t.Errorf("after write %d failed: %s", dies, c.events)
		}
	}
}

// TestTheRequestIsOfWhoeverAsks: a NodeHealthCheck that owns the object is named, so that the gate does
// not wait for the Lease which that holds. Only the object owns the FenceRequest, so that Kubernetes
// deletes it with the object.
func TestTheRequestIsOfWhoeverAsks(t *testing.T) {
	r := requestOf(newCluster().object, "a")
	if got, want := ask.User(r), "FenceRequest n/a-far-12345678, owner NodeHealthCheck/nhc"; got != want {
		t.Errorf("it is of %s, want %s", got, want)
	}
	if len(r.OwnerReferences) != 1 || r.OwnerReferences[0].UID != "12345678-x" {
		t.Errorf("it is owned by %+v", r.OwnerReferences)
	}
	if r.Spec.Reason != "FenceAgentsRemediation n/a" || r.Spec.RequestedBy != "" {
		t.Errorf("%+v", r.Spec)
	}
}

// TestWhatIsRefused: the object says why, and nothing is asked.
func TestWhatIsRefused(t *testing.T) {
	none := api.ReleaseNone
	for name, c := range map[string]struct {
		change func(*cluster)
		want   string
	}{
		"no policy":         {func(c *cluster) { c.policies = nil }, "no FencePolicy selects node a, so nodefence may not fence it: apply one, such as policy workers of infra/crd/examples/policies.yaml"},
		"only an isolation": {func(c *cluster) { c.policies[0].Spec.Action = api.ActionIsolate }, "FencePolicy p has action: Isolate, and a FenceAgentsRemediation switches the machine: write action: Reboot or PowerOff there"},
		"another strategy":  {func(c *cluster) { c.policies[0].Spec.Release = &api.Release{Strategy: &none} }, "spec.remediationStrategy: it is ResourceDeletion, and FencePolicy p has release.strategy: None, which is another: change one of them"},
		"no strategy":       {func(c *cluster) { c.object.Spec.RemediationStrategy = "x" }, `FenceAgentsRemediation n/a, spec.remediationStrategy: "x" is none: write ResourceDeletion or OutOfServiceTaint`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster()
			c.change(w)
			if err := w.adopter(new(strings.Builder), new(time.Duration)).Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(w.writes, ", "); got != "status" {
				t.Errorf("wrote %s", got)
			}
			if got := meta.FindStatusCondition(w.object.Status.Conditions, "Succeeded"); got.Status != "False" || got.Message != c.want {
				t.Errorf("%+v", got)
			}
			if got := strings.Join(w.events, "\n"); got != "RemediationCannotStart: "+c.want {
				t.Error(got)
			}
		})
	}
}

// TestANamespaceThatDoesNotCount is not read, and nothing but an Event is written there.
func TestANamespaceThatDoesNotCount(t *testing.T) {
	c := newCluster()
	c.object.Namespace = "other"
	if err := c.adopter(new(strings.Builder), new(time.Duration)).Look(t.Context()); err != nil || len(c.writes) > 0 {
		t.Error(err, c.writes)
	}
	const want = "NamespaceDoesNotCount: nodefence does nothing about it: its namespace is not one of those in which it adopts objects (n,m): NODEFENCE_ADOPT_NAMESPACES names them, and NODEFENCE_REQUEST_NAMESPACES must have them too"
	if got := strings.Join(c.events, "\n"); got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}

// TestTheKindIsMissing is said once, until it is there.
func TestTheKindIsMissing(t *testing.T) {
	c, log := newCluster(), new(strings.Builder)
	a := c.adopter(log, new(time.Duration))
	c.served = false
	for range 3 {
		if err := a.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "is not installed"); n != 1 || a.Detail() == "" {
		t.Errorf("said %d times: %s; %s", n, log, a.Detail())
	}
	c.served = true
	if err := a.Look(t.Context()); err != nil || a.Detail() != "" || !strings.Contains(log.String(), "is installed now") {
		t.Error(err, a.Detail(), log)
	}
}

// TestThatProgramRuns: as long as its Lease moves nothing is written but an Event, and what this
// process has not seen for the whole duration counts as moving. Its times do not count (S30).
func TestThatProgramRuns(t *testing.T) {
	c, elapsed := newCluster(), time.Hour
	holder, seconds, long := "far-1", int32(15), metav1.NewMicroTime(time.Unix(0, 0))
	lease := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "f", Name: far.LeaderLease, ResourceVersion: "1"}}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &long}
	c.leases = []coordinationv1.Lease{lease}
	a := c.adopter(new(strings.Builder), &elapsed)
	look := func(after time.Duration, version string) string {
		elapsed += after
		c.leases[0].ResourceVersion = version
		if err := a.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		return strings.Join(slices.Sorted(maps.Keys(map[string]bool{strings.Join(c.writes, " "): true})), "")
	}
	// Until it has moved nobody knows, and nothing is written, not even an Event. What waits is
	// withdrawn only by a process that has seen it move.
	c.request = requestOf(c.object, "a")
	for i, step := range []struct {
		after   time.Duration
		version string
		wrote   string
		events  int
	}{{0, "1", "", 0}, {14 * time.Second, "1", "", 0}, {0, "2", "withdraw", 1}, {14 * time.Second, "2", "withdraw", 1}} {
		if wrote := look(step.after, step.version); wrote != step.wrote || len(c.events) != step.events {
			t.Errorf("look %d: wrote %q, events %q", i, wrote, c.events)
		}
	}
	if wrote := look(time.Second, "2"); !strings.HasPrefix(wrote, "withdraw hold status") {
		t.Errorf("it stood still for its duration, and was written %q", wrote)
	}
	if len(c.events) == 0 || c.events[0] != "RemediationCannotStart: nodefence leaves this object alone: Fence Agents Remediation runs, its Lease f/cb305759.medik8s.io moves" {
		t.Error(c.events)
	}
	// One that is given up, or has no duration.
	for holder, held := range map[string]bool{"": false, "far-1": true} {
		l := lease.DeepCopy()
		l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = &holder, nil
		if is, unsure := new(leader).live([]coordinationv1.Lease{*l}, time.Hour); is != "" || unsure != held {
			t.Errorf("held by %q: %q, %v", holder, is, unsure)
		}
	}
}

// TestChangedWhileItIsMarked: somebody deletes an object, or gives it up, while this process places the
// taint. No fence is asked for, and the taint of a deleted one is removed: another process may have looked
// for it before it was there.
func TestChangedWhileItIsMarked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*cluster)
		wrote  string
		err    error
	}{
		"not at all":                       {func(*cluster) {}, "hold, status, mark, ask", nil},
		"it is gone":                       {func(c *cluster) { c.object = nil }, "hold, status, mark, unmark", nil},
		"it is deleted":                    {func(c *cluster) { at := metav1.Now(); c.object.DeletionTimestamp = &at }, "hold, status, mark, unmark", nil},
		"it is gone, and another is there": {func(c *cluster) { c.object, c.other = nil, taken(c.object) }, "hold, status, mark", nil},
		"it is given up":                   {func(c *cluster) { c.object.Annotations[api.TimedOutAnnotation] = "x" }, "hold, status, mark", nil},
		"others can't be read":             {func(c *cluster) { c.unread = "m" }, "hold, status, mark, ask", nil},
		"gone, and others can't be read":   {func(c *cluster) { c.object, c.unread = nil, "m" }, "hold, status, mark", errDied},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster()
			w.changes = map[string]func(){"mark": func() { c.change(w) }}
			if err := w.adopter(new(strings.Builder), new(time.Duration)).Look(t.Context()); !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if got := strings.Join(w.writes, ", "); got != c.wrote {
				t.Errorf("wrote %s, want %s", got, c.wrote)
			}
		})
	}
}

// TestAFailedOneIsGivenUp: NodeHealthCheck gives an object up that has failed, and goes on to another
// remediator. The FenceRequest is told once: its fence must not begin again beside that one.
func TestAFailedOneIsGivenUp(t *testing.T) {
	for dies := range 2 {
		w := newCluster()
		look := func() {
			t.Helper()
			if err := w.adopter(new(strings.Builder), new(time.Duration)).Look(t.Context()); err != nil && !errors.Is(err, errDied) {
				t.Fatal(err)
			}
		}
		look()
		w.answer("FFF")
		look()
		w.object.Annotations[api.TimedOutAnnotation] = "x"
		before := len(w.writes)
		w.dies = dies * (before + 1)
		for range 3 {
			look()
		}
		if got, want := strings.Join(w.writes[before+dies:], ", "), "time out"; got != want || !ask.TimedOut(w.request) {
			t.Errorf("wrote %q, want %q", got, want)
		}
	}
}

// taken is another object about the node, which is taken up, in another namespace.
func taken(o *far.Object) *far.Object {
	other := *o
	other.Namespace, other.UID, other.Finalizers = "m", "87654321-y", []string{far.Finalizer}
	return &other
}

// TestGoneBeforeItIsAskedFor: the taint is there already, and the object goes after this process has
// read it. No fence is asked for.
func TestGoneBeforeItIsAskedFor(t *testing.T) {
	w := newCluster()
	look := func() {
		t.Helper()
		if err := w.adopter(new(strings.Builder), new(time.Duration)).Look(t.Context()); err != nil && !errors.Is(err, errDied) {
			t.Fatal(err)
		}
	}
	w.dies = 4 // the write that asks
	look()
	w.read = func() { w.object = nil }
	look()
	if got := strings.Join(w.writes, ", "); got != "hold, status, mark, ask, unmark" {
		t.Errorf("wrote %s", got)
	}
}

// TestAWebhookDoesNotAnswer: Fence Agents Remediation was stopped, and its webhooks were left. The log and
// an Event name the webhook and say what to do, when the object is taken up and when it is deleted.
func TestAWebhookDoesNotAnswer(t *testing.T) {
	w, elapsed := newCluster(), time.Duration(0)
	a := w.adopter(new(strings.Builder), &elapsed)
	refused := func(want string) {
		t.Helper()
		w.silent, w.events = "vfar.kb.io", nil
		before := len(w.writes)
		err := a.Look(t.Context())
		want += ", because webhook vfar.kb.io does not answer. If Fence Agents Remediation was stopped, delete its webhook configurations (functions/adopt/FAR.md, Move over)"
		reason, message, _ := strings.Cut(want, ": ")
		if got := fmt.Sprint(err); !strings.HasPrefix(got, "FenceAgentsRemediation n/a: "+message+": patch a: ") {
			t.Errorf("the error is %s", got)
		}
		if got := strings.Join(w.events, "; "); got != reason+": "+message || len(w.writes) != before {
			t.Errorf("told %q, wrote %s", got, w.writes[before:])
		}
		w.silent = ""
	}
	refused("RemediationCannotStart: no fence is asked for: the API server refuses to add the object's finalizer")
	if err := a.Look(t.Context()); err != nil || w.request == nil {
		t.Fatal(err, w.writes)
	}
	w.request = nil // it is over
	at := metav1.Now()
	w.object.DeletionTimestamp, w.node.Spec.Taints = &at, nil
	refused("RemediationStopped: the object can't go: the API server refuses to remove its finalizer")
	if err := a.Look(t.Context()); err != nil || w.object != nil {
		t.Fatal(err, w.writes)
	}
}
