package adopt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// setFenceable has a FenceTarget whose condition Fenceable is False for that reason, or True.
func (c *cluster) setFenceable(node string, reason api.Reason) {
	is := metav1.Condition{Type: api.Fenceable, Status: metav1.ConditionFalse, Reason: string(reason)}
	if reason == api.DeviceAnswers {
		is.Status = metav1.ConditionTrue
	}
	c.targets[node] = &api.FenceTarget{Status: api.FenceTargetStatus{Conditions: []metav1.Condition{is}}}
}

// lookForWishes looks at the templates once, and tells which checks were asked for.
func (c *cluster) lookForWishes(t *testing.T, a *Adopter) []string {
	t.Helper()
	c.wishes = nil
	if err := a.LookAtTemplates(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.wishes
}

// TestANewTemplateWakesTheChecks: a node that had no device is checked as soon as a template lists it, and each node
// of a template once its spec changes. Nobody is asked for twice, and who waits for a check already is left alone.
func TestANewTemplateWakesTheChecks(t *testing.T) {
	c := templated(4, "")
	a := c.adopter(new(strings.Builder), new(time.Duration))
	c.setFenceable("node-0000", api.NoBinding)
	c.setFenceable("node-0001", api.DeviceAnswers)
	c.setFenceable("node-0002", api.NoBinding)
	c.targets["node-0002"].Annotations = map[string]string{api.CheckNowAnnotation: "a person's"}
	for i, step := range []struct {
		generation int64
		want       []string
	}{
		{1, []string{"node-0000 t/1"}}, // node-0003 has no FenceTarget: it is checked first anyway
		{1, nil},
		{2, []string{"node-0001 t/2"}}, // those of 0 and 2 are still to come
		{2, nil},
	} {
		c.templates[0].Generation = step.generation
		if d := cmp.Diff(step.want, c.lookForWishes(t, a)); d != "" {
			t.Errorf("look %d: %s", i, d)
		}
	}
	done := metav1.NowMicro()
	for node, target := range c.targets {
		target.Status.CheckNow = &api.CheckNow{Value: target.Annotations[api.CheckNowAnnotation], DoneAt: &done}
		if target.AskedNow() == "" {
			t.Errorf("nobody asked for %s", node)
		}
	}
	c.templates[0].Generation = 3
	if d := cmp.Diff([]string{"node-0000 t/3", "node-0001 t/3", "node-0002 t/3"}, c.lookForWishes(t, a)); d != "" {
		t.Error(d)
	}
	c.templates = nil
	c.lookForWishes(t, a)
	if len(a.wakes.all) > 0 {
		t.Errorf("of templates that are gone it keeps %v", a.wakes.all)
	}
}

// TestChecksAreWokenBesideThatProgram: its templates give devices while it runs, so that all nodes are seen to be
// fenceable before it is stopped.
func TestChecksAreWokenBesideThatProgram(t *testing.T) {
	c := templated(1, "1")
	holder, seconds := "far-1", int32(15)
	lease := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "f", Name: far.LeaderLease, ResourceVersion: "1"}}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds}
	c.leases = []coordinationv1.Lease{lease}
	c.setFenceable("node-0000", api.NoBinding)
	a := c.adopter(new(strings.Builder), new(time.Duration))
	if d := cmp.Diff([]string{"node-0000 t/1"}, c.lookForWishes(t, a)); d != "" || c.sample() != "none" {
		t.Errorf("%s; the template's status is written: %s", d, c.sample())
	}
}

// TestManyNodesAreWokenInTurns: no look reads more than 50 FenceTargets of one template.
func TestManyNodesAreWokenInTurns(t *testing.T) {
	c := templated(120, "")
	for i := range 120 {
		c.setFenceable(fmt.Sprintf("node-%04d", i), api.NoBinding)
	}
	a := c.adopter(new(strings.Builder), new(time.Duration))
	var got []int
	for range 4 {
		got = append(got, len(c.lookForWishes(t, a)))
	}
	if d := cmp.Diff([]int{50, 50, 20, 0}, got); d != "" {
		t.Error(d)
	}
}

// TestAWakeThatFails is tried again, unless the right is missing: then it is said once for each spec.
func TestAWakeThatFails(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "fencetargets"}, "node-0000", nil)
	for name, tc := range map[string]struct {
		refuses error
		want    []bool
	}{
		"no answer":     {errors.New("no answer"), []bool{true, true, false}},
		"it may not be": {forbidden, []bool{true, false, false}},
	} {
		c := templated(1, "")
		c.setFenceable("node-0000", api.NoBinding)
		a := c.adopter(new(strings.Builder), new(time.Duration))
		var got []bool
		for look := range 3 {
			if c.wishRefused = tc.refuses; look == 2 {
				c.wishRefused = nil
			}
			got = append(got, a.LookAtTemplates(t.Context()) != nil)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
