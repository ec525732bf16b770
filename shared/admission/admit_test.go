package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestMayBegin: one rule of rounding for limits and budgets. A percentage is rounded down,
// but is at least one unless it is 0%; 0 and 0% are none.
func TestMayBegin(t *testing.T) {
	for name, c := range map[string]struct {
		limits           api.Limits
		unhealthy, total int
		want             bool
	}{
		"as many as allowed begin":          {api.Limits{MaxUnhealthy: fencetest.Number(2)}, 2, 10, true},
		"one more does not":                 {api.Limits{MaxUnhealthy: fencetest.Number(2)}, 3, 10, false},
		"a percentage is rounded down":      {api.Limits{MaxUnhealthy: fencetest.Percent("40%")}, 2, 6, true},
		"and not up":                        {api.Limits{MaxUnhealthy: fencetest.Percent("40%")}, 3, 6, false},
		"unless set it is 40%":              {api.Limits{}, 4, 10, true},
		"and no more":                       {api.Limits{}, 5, 10, false},
		"a pool of one":                     {api.Limits{}, 1, 1, true},
		"a pool of two":                     {api.Limits{}, 1, 2, true},
		"one of a pool of two, and no more": {api.Limits{}, 2, 2, false},
		"one percent of ten":                {api.Limits{MaxUnhealthy: fencetest.Percent("1%")}, 1, 10, true},
		"none is none":                      {api.Limits{MaxUnhealthy: fencetest.Number(0)}, 1, 10, false},
		"nothing of ten":                    {api.Limits{MaxUnhealthy: fencetest.Percent("0%")}, 1, 10, false},
		"nothing, in two digits":            {api.Limits{MaxUnhealthy: fencetest.Percent("00%")}, 1, 10, false},
	} {
		may, words := admission.MayBegin(admission.Scopes(policy.LimitsOf(&api.FencePolicy{Spec: api.FencePolicySpec{Limits: c.limits}}))[0], c.unhealthy, c.total)
		if may != c.want {
			t.Errorf("%s: %v, %s", name, may, words)
		}
		b := &api.FenceBudget{Spec: api.FenceBudgetSpec{MaxUnavailable: c.limits.MaxUnhealthy}}
		if room, words := admission.RoomOf(b, c.total); c.limits.MaxUnhealthy != nil && (c.unhealthy <= room) != c.want {
			t.Errorf("%s, as a budget: %d, %s", name, room, words)
		}
	}
}

func TestAdmit(t *testing.T) { // S14, S15, S16
	now := fencetest.Start
	for name, c := range map[string]struct {
		change func(*admission.Picture, *api.FenceLedger)
		want   api.Reason
	}{
		"one dead node among ten begins": {func(*admission.Picture, *api.FenceLedger) {}, ""},
		"too many dead nodes are a storm": {func(c *admission.Picture, _ *api.FenceLedger) {
			c.Nodes[1].Unhealthy, c.Nodes[2].Unhealthy, c.Nodes[3].Unhealthy = true, true, true
		}, api.TooManyUnhealthy},
		"a Lease that missed a renewal counts": {func(c *admission.Picture, l *api.FenceLedger) {
			c.Nodes[1].Unhealthy, c.Nodes[2].Unhealthy = true, true
			l.Status.Leases.Still = []api.StillLease{{NodeName: "n3"}}
		}, api.TooManyUnhealthy},
		"a node under our care counts": {func(c *admission.Picture, _ *api.FenceLedger) {
			c.Nodes[1].Unhealthy, c.Nodes[2].Unhealthy = true, true
			c.Fences = append(c.Fences, fencetest.Running("n3", "f3", api.Recovering))
		}, api.TooManyUnhealthy},
		"a slot in use is not given twice": {func(c *admission.Picture, _ *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Fencing))
		}, api.TooManyConcurrent},
		"a released fence holds no slot": {func(c *admission.Picture, _ *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Recovering))
		}, ""},
		"a reservation without a fence counts for nothing": {func(_ *admission.Picture, l *api.FenceLedger) {
			l.Status.Reservations = []api.Reservation{{NodeName: "n1", FenceUID: "gone", FenceNumber: 1, At: observed.StampOf(now)}}
		}, ""},
		"the stop switch stops":       {func(_ *admission.Picture, l *api.FenceLedger) { l.Spec.Stop = true }, api.Stopped},
		"a restored API server holds": {func(_ *admission.Picture, l *api.FenceLedger) { l.Status.Restored = fencetest.Restored(0) }, api.StateWentBack},
		"a person's word on that restore ends it": {func(_ *admission.Picture, l *api.FenceLedger) {
			l.Status.Restored = fencetest.Restored(0)
			l.Spec.RestoreConfirmed = &api.RestoreConfirmed{By: "anna", SeenAt: fencetest.Restored(0).SeenAt}
		}, ""},
		"her word on an earlier restore does not": {func(_ *admission.Picture, l *api.FenceLedger) {
			l.Status.Restored = fencetest.Restored(0)
			l.Spec.RestoreConfirmed = &api.RestoreConfirmed{By: "anna", SeenAt: fencetest.Restored(time.Hour).SeenAt}
		}, api.StateWentBack},
		"nobody's word does not": {func(_ *admission.Picture, l *api.FenceLedger) {
			l.Status.Restored = fencetest.Restored(0)
			l.Spec.RestoreConfirmed = &api.RestoreConfirmed{SeenAt: fencetest.Restored(0).SeenAt}
		}, api.StateWentBack},
		"no picture of the Leases holds": {func(_ *admission.Picture, l *api.FenceLedger) { l.Status.Leases.ObservedAt = nil }, api.LeasePictureOld},
		"an old picture holds": {func(_ *admission.Picture, l *api.FenceLedger) {
			at := observed.StampOf(now.Add(-31 * time.Second))
			l.Status.Leases.ObservedAt = &at
		}, api.LeasePictureOld},
		"a picture of less than a renewal holds": {func(_ *admission.Picture, l *api.FenceLedger) {
			at := observed.StampOf(now.Add(-time.Second))
			l.Status.Leases.Since = &at
		}, api.LeasePictureOld},
		"most Leases still: it may be us": {func(_ *admission.Picture, l *api.FenceLedger) {
			for i := range 6 {
				l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: fmt.Sprintf("n%d", i), Stale: true})
			}
		}, api.MostLeasesStale},
		"more Leases still than have names: a storm, of whomever": {func(_ *admission.Picture, l *api.FenceLedger) { l.Status.Leases.StillCount = 1 }, api.TooManyUnhealthy},
		"a storm that has ended cools down": {func(_ *admission.Picture, l *api.FenceLedger) {
			l.Status.Storms = []api.Storm{{Policy: "p", Since: observed.StampOf(now)}}
		}, api.StormCoolDown},
		"another policy's storm is not ours": {func(_ *admission.Picture, l *api.FenceLedger) {
			l.Status.Storms = []api.Storm{{Policy: "q", Since: observed.StampOf(now)}}
		}, ""},
		"after the cool-down it begins": {func(_ *admission.Picture, l *api.FenceLedger) {
			until := observed.StampOf(now.Add(-time.Second))
			l.Status.Storms = []api.Storm{{Policy: "p", CoolDownUntil: &until}}
		}, ""},
	} {
		f, cl, l := fencetest.World(now)
		c.change(&cl, l)
		v := admission.Admit(f, cl, l, now)
		got := api.Reason("")
		if v != nil {
			got = v.Reason
		}
		if got != c.want || (v == nil) != (admission.ReservedAt(l, f) != nil) {
			t.Errorf("%s: %q (%+v), reserved %v", name, got, v, admission.ReservedAt(l, f))
		}
	}
}

// TestALostLedgerIsRebuilt: running fences have their slots back before anything
// is decided on it (S14).
func TestALostLedgerIsRebuilt(t *testing.T) {
	f, c, l := fencetest.World(fencetest.Start)
	f.Status.Decision.Limits[0].MaxConcurrent = 5
	c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Isolating), fencetest.Running("n2", "f2", api.Releasing), fencetest.Running("n3", "f3", api.Finished))
	if v := admission.Admit(f, c, l, fencetest.Start); v != nil {
		t.Fatalf("%+v", v)
	}
	var nodes []string
	for _, r := range l.Status.Reservations {
		nodes = append(nodes, r.NodeName)
	}
	if d := cmp.Diff([]string{"n1", "n2", "n0"}, nodes); d != "" {
		t.Error(d)
	}
}

func TestResolvePolicy(t *testing.T) {
	named := func(name string, precedence int32, labels map[string]string) api.FencePolicy {
		p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.FencePolicySpec{Selector: policy.EveryNode, Precedence: &precedence}}
		if labels != nil {
			p.Spec.Selector = &api.LabelSelector{MatchLabels: labels}
		}
		return p
	}
	a := map[string]string{"role": "a"}
	for name, c := range map[string]struct {
		policies            []api.FencePolicy
		want, ConflictWords string
		limits              int
	}{
		"none selects the node":           {[]api.FencePolicy{named("x", 1, map[string]string{"role": "b"})}, "", "", 0},
		"one without a selector does":     {[]api.FencePolicy{named("x", 1, nil)}, "x", "", 1},
		"the lowest precedence decides":   {[]api.FencePolicy{named("x", 2, nil), named("y", 1, a)}, "y", "", 2},
		"a tie is a conflict":             {[]api.FencePolicy{named("x", 1, nil), named("y", 1, a)}, "x", "y", 2},
		"a tie below the decider is none": {[]api.FencePolicy{named("x", 2, nil), named("y", 2, a), named("z", 1, a)}, "z", "", 3},
	} {
		r, _ := policy.ResolvePolicy(c.policies, "n", a)
		if r.Policy.Name != c.want || r.Settings.Conflict != c.ConflictWords || len(r.Limits) != c.limits {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
