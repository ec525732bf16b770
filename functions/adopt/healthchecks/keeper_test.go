package healthchecks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/mhc"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// cluster is what the function reads and writes; done is what it did, in words and in order.
type cluster struct {
	checks   map[string]map[string]any // by apiVersion/name; of a group that is not served none
	unserved map[string]bool
	nodes    []corev1.Node
	machines []policy.Machine
	policies map[string]map[string]any
	foreign  bool // a policy without the label has the name
	raced    bool // another process creates the policy first
	lease    *coordinationv1.Lease
	seen     *corev1.ConfigMap
	fails    string
	unread   map[string]bool // by group
	// namespaces is the setting after the change; wrong, that an error is told.
	namespaces []string
	wrong      bool
	done       []string
}

func (c *cluster) did(what string, args ...any) error {
	text := fmt.Sprintf(what, args...)
	if c.fails != "" && strings.HasPrefix(text, c.fails) {
		return errors.New("forbidden")
	}
	c.done = append(c.done, text)
	return nil
}

func (c *cluster) took() string {
	all := strings.Join(c.done, "\n")
	c.done = nil
	return all
}

func (c *cluster) MachinesIn(_ context.Context, group string) ([]policy.Machine, error) {
	if c.fails == "machines" {
		return nil, errors.New("forbidden")
	}
	return slices.DeleteFunc(slices.Clone(c.machines), func(m policy.Machine) bool { return !strings.HasPrefix(m.APIVersion, group) }), nil
}

func (c *cluster) MachineHealthChecks(context.Context) (all []kube.HealthChecks) {
	for _, l := range mhc.Leaders {
		if c.unread[l.Group] {
			all = append(all, kube.HealthChecks{APIVersion: l.Group + "/v1beta1", Err: errors.New("its webhook is down")})
			continue
		}
		if c.unserved[l.Group] {
			all = append(all, kube.HealthChecks{})
			continue
		}
		kind := kube.HealthChecks{APIVersion: l.Group + "/v1beta1"}
		for _, key := range slices.Sorted(maps.Keys(c.checks)) {
			if strings.HasPrefix(key, l.Group) {
				raw, _ := json.Marshal(c.checks[key])
				kind.Items = append(kind.Items, raw)
			}
		}
		all = append(all, kind)
	}
	return all
}

func (c *cluster) SaveHealthCheckStatus(_ context.Context, version string, m metav1.ObjectMeta, fields map[string]any) error {
	status, _ := c.checks[version+"/"+m.Name]["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	maps.Copy(status, fields)
	c.checks[version+"/"+m.Name]["status"] = status
	condition := fields["conditions"].([]any)[0].(map[string]any)
	return c.did("status %v of %v, %v more, %v %v", fields["currentHealthy"], fields["expectedMachines"], fields["remediationsAllowed"], condition["status"], condition["reason"])
}
func (c *cluster) Nodes(context.Context) ([]corev1.Node, error) { return c.nodes, nil }
func (c *cluster) LabelNode(_ context.Context, n *corev1.Node, labels map[string]any) error {
	for key, value := range labels {
		if value == nil {
			delete(n.Labels, key)
			return c.did("unlabel %s", n.Name)
		}
		n.Labels[key] = value.(string)
	}
	return c.did("label %s", n.Name)
}

func (c *cluster) PoliciesLabelled(_ context.Context, label, value string) (map[string]map[string]any, error) {
	if label != mhc.AdoptedLabel || value != mhc.AdoptedValue {
		return nil, fmt.Errorf("%s=%s", label, value)
	}
	return maps.Clone(c.policies), nil
}

func (c *cluster) CreatePolicy(_ context.Context, o map[string]any) error {
	if c.foreign {
		return kube.ErrConflict
	}
	m := o["metadata"].(map[string]any)
	m["uid"], m["resourceVersion"] = "p", "1"
	c.policies[m["name"].(string)] = o
	if c.raced {
		return kube.ErrConflict
	}
	return c.did("create %s", paused(o))
}

func paused(o map[string]any) string {
	spec := o["spec"].(map[string]any)
	return fmt.Sprint("up to ", spec["limits"].(map[string]any)["maxUnhealthy"], " ", spec["pauseRequests"])
}

func (c *cluster) SavePolicy(_ context.Context, name string, o map[string]any) error {
	c.policies[name] = o
	return c.did("save %s", paused(o))
}

func (c *cluster) DeletePolicy(_ context.Context, name string, uid types.UID, version string) error {
	if err := c.did("delete %s %s", uid, version); err != nil {
		return err
	}
	delete(c.policies, name)
	return nil
}

func (c *cluster) LeaseIn(_ context.Context, _, name string) (*coordinationv1.Lease, error) {
	if name != mhc.Leaders[0].Name {
		return nil, errors.New("the Lease of another controller")
	}
	return c.lease, nil
}

func (c *cluster) ConfigMap(context.Context, string, string) (*corev1.ConfigMap, error) {
	return c.seen.DeepCopy(), nil
}
func (c *cluster) SaveConfigMap(_ context.Context, cm *corev1.ConfigMap) error {
	c.seen = cm
	return c.did("note")
}
func (c *cluster) ReportAbout(_ context.Context, o corev1.ObjectReference, _, _, reason, _ string, _ bool) error {
	return c.did("event %s/%s %s", o.Namespace, o.Name, reason)
}

const checkKey = "machine.openshift.io/v1beta1/workers"

// five are five nodes with Machines, under a MachineHealthCheck of OpenShift.
func five(spec string) *cluster {
	c := &cluster{policies: map[string]map[string]any{}, checks: map[string]map[string]any{}, unserved: map[string]bool{}, unread: map[string]bool{}}
	c.seen = &corev1.ConfigMap{Data: map[string]string{mhc.Leaders[0].Key(): now.Add(-time.Hour).Format(time.RFC3339) + " none", "x": "y"}}
	for i := range 5 {
		n := corev1.Node{}
		n.Name, n.UID, n.Labels = fmt.Sprint("n", i), types.UID(fmt.Sprint("u", i)), map[string]string{"x": "y"}
		n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "True"}}
		c.nodes = append(c.nodes, n)
		m := policy.Machine{TypeMeta: metav1.TypeMeta{APIVersion: "machine.openshift.io/v1beta1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: n.Name, Labels: map[string]string{"pool": "a"}}}
		m.Status.NodeRef = &policy.NodeRef{Name: n.Name}
		c.machines = append(c.machines, m)
	}
	c.put(spec)
	return c
}

func (c *cluster) put(spec string) {
	var is any
	if err := json.Unmarshal([]byte(spec), &is); err != nil {
		panic(err)
	}
	c.checks[checkKey] = map[string]any{"metadata": map[string]any{"namespace": "ns", "name": "workers", "uid": "m"}, "spec": is}
}

const fourty = `{"selector":{"matchLabels":{"pool":"a"}},"unhealthyConditions":[{"type":"Ready","status":"Unknown","timeout":"300s"}],"maxUnhealthy":"40%"}`

const labelled = "\nlabel n0\nlabel n1\nlabel n2\nlabel n3\nlabel n4"

func (c *cluster) unwell(n int) {
	for i := range c.nodes {
		c.nodes[i].Status.Conditions[0].Status = map[bool]corev1.ConditionStatus{true: "Unknown", false: "True"}[i < n]
	}
}

// TestAMachineHealthCheckIsAnswered, from its creation to its deletion: each tick does what is
// missing, and the next one nothing.
func TestAMachineHealthCheckIsAnswered(t *testing.T) {
	c := five(fourty)
	at := now
	h := &Keeper{Objects: c, Function: "policystatus", Namespace: "own", Namespaces: []string{"ns"}, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	annotate := func(value map[string]any) { c.checks[checkKey]["metadata"].(map[string]any)["annotations"] = value }
	for _, x := range []struct {
		name   string
		change func()
		want   string
	}{
		{"it is new", func() {}, "create up to 2 <nil>\nevent ns/workers Adopted\nstatus 5 of 5, 2 more, True <nil>" + labelled},
		{"two are unwell: as many as may be", func() { c.unwell(2) }, "status 3 of 5, 0 more, True <nil>"},
		{"three are", func() { c.unwell(3) }, "save up to 2 [MachineHealthCheck ns/workers]\nstatus 2 of 5, 0 more, False TooManyUnhealthy\nevent ns/workers RemediationRestricted"},
		{"one is", func() { c.unwell(1) }, "save up to 2 <nil>\nstatus 4 of 5, 1 more, True <nil>"},
		{"its limit changes", func() {
			status := c.checks[checkKey]["status"]
			c.put(strings.Replace(fourty, "40%", "1", 1))
			c.checks[checkKey]["status"] = status
		}, "save up to 1 <nil>\nstatus 4 of 5, 0 more, True <nil>"},
		{"a Machine is to be skipped", func() { c.machines[4].Annotations = map[string]string{policy.SkipRemediation: ""} }, "unlabel n4"},
		{"a Machine leaves", func() { c.machines[3].Labels = nil }, "status 3 of 4, 0 more, True <nil>\nunlabel n3"},
		{"it is paused", func() { annotate(map[string]any{policy.Paused: ""}); c.unwell(3) }, "save up to 1 [MachineHealthCheck ns/workers]"},
		{"it is resumed", func() { annotate(nil); c.unwell(0) }, "save up to 1 <nil>\nstatus 4 of 4, 1 more, True <nil>"},
		{"somebody edits what follows", func() {
			for _, o := range c.policies {
				o["spec"].(map[string]any)["action"] = "Isolate"
			}
		}, "save up to 1 <nil>"},
		{"the Machines can't be read", func() { c.fails = "machines"; delete(c.checks, checkKey) }, ""},
		{"they can, and it is gone", func() { c.fails = "" }, "delete p 1\nunlabel n0\nunlabel n1\nunlabel n2"},
	} {
		x.change()
		for round, want := range []string{x.want, ""} {
			if err := h.Keep(t.Context()); (err != nil) != (c.fails != "") {
				t.Fatalf("%s: %v", x.name, err)
			}
			if d := cmp.Diff(want, c.took()); d != "" {
				t.Errorf("%s, round %d: %s", x.name, round, d)
			}
		}
	}
	if d := cmp.Diff(map[string]string{"x": "y"}, c.nodes[0].Labels); d != "" {
		t.Error(d)
	}
}

// TestWhoIsNotAnswered: nothing follows from an object that is refused, or that another controller
// handles. Its policy is held, with what people wrote into it; it is deleted with the object alone.
func TestWhoIsNotAnswered(t *testing.T) {
	const unlabelled = "unlabel n0\nunlabel n1\nunlabel n2\nunlabel n3\nunlabel n4"
	const held, deleted = "save up to 2 [MachineHealthCheck ns/workers]", "delete p 1"
	moves := func(c *cluster) {
		renewed := metav1.NewMicroTime(now)
		c.lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
	}
	gone := func(c *cluster) { delete(c.checks, checkKey) }
	for name, x := range map[string]struct {
		change func(*cluster)
		want   string
	}{
		"its controller is alive":  {moves, "note\nevent ns/workers LeftToItsController\n" + held + "\n" + unlabelled},
		"it is refused":            {func(c *cluster) { c.put(strings.Replace(fourty, "Ready", "", 1)) }, held + "\nevent ns/workers CannotBeMapped\nstatus <nil> of <nil>, 0 more, False CannotBeMapped\n" + unlabelled},
		"its namespace counts not": {func(c *cluster) { c.namespaces = []string{"a", "b"} }, "event ns/workers NamespaceDoesNotCount\n" + held + "\n" + unlabelled},
		"it can't be read at all":  {func(c *cluster) { c.checks[checkKey]["metadata"] = "x"; c.wrong = true }, held + "\n" + unlabelled},
		"its policy can't be held": {func(c *cluster) { moves(c); c.fails = "save" }, "note\nevent ns/workers LeftToItsController"},
		"it is gone":               {gone, deleted + "\n" + unlabelled},
		"it is being deleted": {func(c *cluster) {
			c.checks[checkKey]["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-02T03:04:05Z"
		}, deleted + "\n" + unlabelled},
		"its policy can't be deleted": {func(c *cluster) { gone(c); c.fails = "delete" }, held},
		"a person's copy of its policy stays": {func(c *cluster) {
			gone(c)
			for _, o := range c.policies {
				c.policies["copy"] = o
			}
		}, deleted + "\n" + unlabelled},
		"its kind is not installed any more":  {func(c *cluster) { c.unserved[mhc.OpenShift] = true; gone(c) }, ""},
		"neither kind is":                     {func(c *cluster) { c.unserved[mhc.OpenShift], c.unserved[mhc.ClusterAPI] = true, true }, ""},
		"its kind can't be read":              {func(c *cluster) { c.unread[mhc.OpenShift] = true; c.wrong = true }, ""},
		"what was seen is not kept any more":  {func(c *cluster) { c.seen = nil; c.wrong = true }, ""},
		"the other kind can't be read":        {func(c *cluster) { c.unread[mhc.ClusterAPI] = true; c.wrong = true; c.unwell(2) }, "status 3 of 5, 0 more, True <nil>"},
		"somebody else's policy has its name": {func(c *cluster) { clear(c.policies); c.foreign = true }, "event ns/workers CannotBeMapped\nstatus <nil> of <nil>, 0 more, False CannotBeMapped\n" + unlabelled},
	} {
		c := five(fourty)
		h := &Keeper{Objects: c, Function: "policystatus", Namespace: "own", Namespaces: []string{"ns"}, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
		if err := h.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, o := range c.policies {
			o["spec"].(map[string]any)["mode"] = "DryRun"
		}
		c.took()
		x.change(c)
		if c.namespaces != nil {
			h.Namespaces = c.namespaces
		}
		if err := h.Keep(t.Context()); (err != nil) != (c.fails != "" || c.wrong) {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(x.want, c.took()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for _, o := range c.policies {
			if mode := o["spec"].(map[string]any)["mode"]; mode != "DryRun" {
				t.Errorf("%s: mode %v", name, mode)
			}
		}
	}
}

// TestWhatPeopleWroteCountsAgain: after its controller was alive for a while, a policy has the mode and
// the pauses that people wrote into it.
func TestWhatPeopleWroteCountsAgain(t *testing.T) {
	c := five(fourty)
	at := now
	h := &Keeper{Objects: c, Function: "policystatus", Namespace: "own", Namespaces: []string{"ns"}, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	keep := func() {
		t.Helper()
		if err := h.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	keep()
	for _, o := range c.policies {
		o["spec"].(map[string]any)["mode"], o["spec"].(map[string]any)["pauseRequests"] = "DryRun", []any{"me"}
	}
	c.lease = &coordinationv1.Lease{}
	keep()
	c.took()
	at = now.Add(time.Hour)
	keep()
	if d := cmp.Diff("save up to 2 [me]"+labelled, c.took()); d != "" {
		t.Error(d)
	}
	for _, o := range c.policies {
		if mode := o["spec"].(map[string]any)["mode"]; mode != "DryRun" {
			t.Errorf("mode %v", mode)
		}
	}
}

// TestAPolicySaysWhenItWasComputed, anew before it would hold by its age.
func TestAPolicySaysWhenItWasComputed(t *testing.T) {
	c := five(fourty)
	at := now
	h := &Keeper{Objects: c, Function: "policystatus", Namespace: "own", Namespaces: []string{"ns"}, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	for after := time.Duration(0); after < 20*time.Minute; after += time.Minute {
		at = now.Add(after)
		if err := h.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, o := range c.policies {
			if stamp := metaOf(o).Annotations[policy.ComputedAt]; !policy.Stamp(stamp).Within(3*time.Minute, at) {
				t.Errorf("after %s: %q", after, stamp)
			}
		}
	}
	if n := strings.Count(c.took(), "save"); n != 6 {
		t.Errorf("written %d times", n)
	}
}

// TestALeaseThatIsNotThere counts as gone only after that was seen for a while: its controller may be
// about to create it.
func TestALeaseThatIsNotThere(t *testing.T) {
	c := five(fourty)
	c.seen.Data = nil
	at := now
	h := &Keeper{Objects: c, Function: "policystatus", Namespace: "own", Namespaces: []string{"ns"}, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	for _, x := range []struct {
		after time.Duration
		want  string
	}{
		{0, "note\nevent ns/workers LeftToItsController"},
		{6*time.Minute - time.Second, "event ns/workers LeftToItsController"},
		{6 * time.Minute, "create up to 2 <nil>\nevent ns/workers Adopted\nstatus 5 of 5, 2 more, True <nil>" + labelled},
	} {
		at = now.Add(x.after)
		if err := h.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(x.want, c.took()); d != "" {
			t.Errorf("after %s: %s", x.after, d)
		}
	}
}

// TestTwoProcesses: what another process has created meanwhile is no policy of somebody else.
func TestTwoProcesses(t *testing.T) {
	c := five(fourty)
	c.raced = true
	h := &Keeper{Objects: c, Function: "policystatus", Namespace: "own", Namespaces: []string{"ns"}, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	for round, want := range []string{"status 5 of 5, 2 more, True <nil>" + labelled, ""} {
		if err := h.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, c.took()); d != "" {
			t.Errorf("round %d: %s", round, d)
		}
	}
}

// TestALeaseThatStandsStill is its controller's last sign of life; until then nothing is done (S30).
func TestALeaseThatStandsStill(t *testing.T) {
	c := five(fourty)
	renewed := metav1.NewMicroTime(now.Add(-time.Hour))
	c.lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: new(int32(60))}}
	at := now
	h := &Keeper{Objects: c, Function: "policystatus", Namespace: "own", Namespaces: []string{"ns"}, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	for _, x := range []struct {
		after time.Duration
		want  string
	}{
		{0, "note\nevent ns/workers LeftToItsController"},
		{119 * time.Second, "event ns/workers LeftToItsController"},
		{2 * time.Minute, "create up to 2 <nil>\nevent ns/workers Adopted\nstatus 5 of 5, 2 more, True <nil>" + labelled},
	} {
		at = now.Add(x.after)
		if err := h.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(x.want, c.took()); d != "" {
			t.Errorf("after %s: %s", x.after, d)
		}
	}
}

// TestAKindThatIsNotInstalled is said once in the log, and by /readyz.
func TestAKindThatIsNotInstalled(t *testing.T) {
	c := five(fourty)
	c.unserved[mhc.ClusterAPI] = true
	var log strings.Builder
	h := &Keeper{Objects: c, Function: "policystatus", Namespace: "own", Namespaces: []string{"ns"}, Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		if err := h.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "group=cluster.x-k8s.io"); n != 1 || h.Detail() != "adopt mhc: no MachineHealthChecks are installed of cluster.x-k8s.io" {
		t.Errorf("%d times: %s\n%s", n, log.String(), h.Detail())
	}
	c.unserved[mhc.ClusterAPI] = false
	if err := h.Keep(t.Context()); err != nil || h.Detail() != "" {
		t.Errorf("%v %s", err, h.Detail())
	}
}

// TestACheckOfAPausedCluster: its policy is held, its labels stay, and its status is left as it is.
func TestACheckOfAPausedCluster(t *testing.T) {
	c := five(fourty)
	h := &Keeper{Objects: c, Function: "policystatus", Namespace: "own", Namespaces: []string{"ns"}, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	for _, x := range []struct{ held, want string }{
		{"", "create up to 2 <nil>\nevent ns/workers Adopted\nstatus 5 of 5, 2 more, True <nil>" + labelled},
		{"its Cluster x is paused", "save up to 2 [MachineHealthCheck ns/workers]\nevent ns/workers ClusterPaused"},
		{"", "save up to 2 <nil>"},
	} {
		c.machines[4].HeldByCluster = x.held
		if err := h.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(x.want, c.took()); d != "" {
			t.Errorf("held %q: %s", x.held, d)
		}
	}
}
