package admission_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestAPolicyThatFencesNothingSaysSo before a node fails, with the field that helps (S28).
func TestAPolicyThatFencesNothingSaysSo(t *testing.T) {
	q := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: api.FencePolicySpec{Selector: policy.EveryNode, Precedence: new(int32(7))}}
	for name, c := range map[string]struct {
		change func(*api.FencePolicy, *admission.Picture)
		others []api.FencePolicy
		why    api.Reason
		words  string
	}{
		"alone":                      {func(*api.FencePolicy, *admission.Picture) {}, nil, "", ""},
		"no node at all":             {func(_ *api.FencePolicy, c *admission.Picture) { c.Nodes = nil }, nil, "", ""},
		"another of that precedence": {func(*api.FencePolicy, *admission.Picture) {}, []api.FencePolicy{q}, api.PolicyConflict, "policy q has the same precedence (7) and selects 10 of these nodes too, such as n0: none of them is fenced until one of the two has a lower spec.precedence, which decides, or another selector"},
		"another of a lower one":     {func(p *api.FencePolicy, _ *admission.Picture) { p.Spec.Precedence = new(int32(8)) }, []api.FencePolicy{q}, "", ""},
		"another for no node of it": {func(p *api.FencePolicy, _ *admission.Picture) {
			p.Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, []api.FencePolicy{q}, "", ""},
	} {
		_, cl, l := fencetest.World(fencetest.Start)
		cl.Fences = nil
		p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Selector: policy.EveryNode, Precedence: new(int32(7))}}
		c.change(&p, &cl)
		st := admission.PolicyStatus(&p, append(c.others, p), cl, l, fencetest.Start)
		got := meta.FindStatusCondition(st.Conditions, admission.Accepted)
		if (got.Status == metav1.ConditionTrue) != (c.why == "") || c.why != "" && (got.Reason != string(c.why) || got.Message != c.words) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestWhatIsInEffect: the numbers that follow from limits, windows and other policies stand
// in the status, because most fields stay at their defaults.
func TestWhatIsInEffect(t *testing.T) {
	f, cl, l := fencetest.World(fencetest.Start)
	fencetest.Zones(f, &cl)
	until := observed.StampOf(fencetest.Start.Add(time.Minute))
	l.Status.Storms = []api.Storm{{Policy: "p", CoolDownUntil: &until}}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{
		Limits: api.Limits{
			MaxRate:   &api.Rate{Count: 4, Period: "10m"},
			PerDomain: &api.DomainLimits{TopologyKey: fencetest.ZoneKey, MaxConcurrent: new(int32(1))},
		},
		PauseWindows: []api.PauseWindowRule{fencetest.Window("12:00", time.Hour, "UTC"), fencetest.Window("22:00", time.Hour, "UTC")},
	}}
	q := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: api.FencePolicySpec{Selector: &api.LabelSelector{MatchLabels: map[string]string{fencetest.ZoneKey: "b"}}}}
	want := []string{
		"maxUnhealthy 4 of 10", "maxConcurrent 1", "maxRate 4 in 10m0s", "perDomain maxUnhealthy 100% and maxConcurrent 1 for each " + fencetest.ZoneKey,
		"cool-down until " + until.UTC().Format(time.RFC3339), "next pause window at " + fencetest.Start.UTC().Format("2006-01-02") + "T12:00:00Z",
		"the limits of policy q hold for 5 of these nodes too",
	}
	if d := cmp.Diff(want, admission.PolicyStatus(&p, []api.FencePolicy{p, q}, cl, l, fencetest.Start).Effective); d != "" {
		t.Error(d)
	}
}
