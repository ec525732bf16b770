package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestMorePoliciesThanARecordTakes: a policy that is left out might be the one that holds.
// So no fence begins, with a message, and the record can be saved (S14, S28).
func TestMorePoliciesThanARecordTakes(t *testing.T) {
	for n, holds := range map[int]bool{policy.MaxPolicies: false, policy.MaxPolicies + 1: true, 200: true} {
		var all []api.FencePolicy
		for i := range n {
			p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)}, Spec: api.FencePolicySpec{Selector: policy.EveryNode, Mode: api.ModeEnforce, Action: api.ActionReboot}}
			p.Spec.Precedence = new(int32(i))
			all = append(all, p)
		}
		r, ok := policy.ResolvePolicy(all, "n1", nil)
		if !ok || (r.Settings.Excluded != "") != holds || r.Policy.Name != "p0" {
			t.Errorf("%d policies: %q by %s", n, r.Settings.Excluded, r.Policy.Name)
		}
		for _, w := range fencetest.TooBig(t, &api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: r}}) {
			t.Errorf("%d policies: %s", n, w)
		}
	}
}

// TestANodeThatAPolicySelectsAsControlPlane: a distribution may mark its control plane in a way that
// nodefence does not know (S13). The selector of any policy counts, and so does one that can't be read.
func TestANodeThatAPolicySelectsAsControlPlane(t *testing.T) {
	named := func(name string, s *api.LabelSelector) api.FencePolicy {
		p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.FencePolicySpec{Selector: policy.EveryNode, Mode: api.ModeEnforce, Action: api.ActionReboot}}
		p.Spec.ControlPlane.NodeSelector = s
		return p
	}
	decides, other := named("a", nil), named("b", &api.LabelSelector{MatchLabels: map[string]string{"example.com/plane": "yes"}})
	other.Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": "other"}}
	quorum := named("a", nil)
	quorum.Spec.ControlPlane.Fence = new(api.WithQuorum)
	deleted := *other.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{Time: fencetest.Start}
	unreadable := named("c", &api.LabelSelector{MatchLabels: map[string]string{"a b": ""}})
	plane := map[string]string{"example.com/plane": "yes"}
	for name, c := range map[string]struct {
		policies []api.FencePolicy
		labels   map[string]string
		by       string
		spared   bool
	}{
		"no policy has a selector":                 {[]api.FencePolicy{decides}, plane, "", false},
		"another policy's selector matches":        {[]api.FencePolicy{decides, other}, plane, "b", true},
		"it does not match":                        {[]api.FencePolicy{decides, other}, nil, "", false},
		"the deciding policy asks for the quorum":  {[]api.FencePolicy{quorum, other}, plane, "b", false},
		"the policy of the selector is deleted":    {[]api.FencePolicy{decides, deleted}, plane, "", false},
		"a selector that can't be read":            {[]api.FencePolicy{decides, unreadable}, nil, "c", true},
		"of two that match the first name is said": {[]api.FencePolicy{decides, unreadable, other}, plane, "b", true},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := policy.ResolvePolicy(c.policies, "n", c.labels)
			if got := r.Settings.ControlPlane.SelectedBy; !ok || got != c.by || r.Spares(false) != c.spared {
				t.Errorf("selected by %q, want %q; spared %t, want %t", got, c.by, r.Spares(false), c.spared)
			}
		})
	}
}

// TestMorePoliciesThanARecordTakesOfANodeThatIsMissing: those that expect it and those that
// would select it count together.
func TestMorePoliciesThanARecordTakesOfANodeThatIsMissing(t *testing.T) {
	since := observed.StampOf(fencetest.Start.Add(-time.Hour))
	for _, c := range []struct {
		expect, others int
		holds          bool
	}{{1, policy.MaxPolicies - 1, false}, {1, policy.MaxPolicies, true}, {1, 200, true}, {5, policy.MaxPolicies, true}, {policy.MaxPolicies + 1, 0, true}} {
		var all []api.FencePolicy
		for i := range c.expect + c.others {
			p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)}, Spec: api.FencePolicySpec{Selector: policy.EveryNode, Mode: api.ModeEnforce, Action: api.ActionReboot}}
			if p.Spec.Precedence = new(int32(i)); i < c.expect {
				p.Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}
				p.Spec.MissingNodes, p.Status.Missing = &api.MissingNodesRule{NodeNames: []string{"gone"}}, []api.MissingNode{{NodeName: "gone", Since: since}}
			}
			all = append(all, p)
		}
		r, _, ok := policy.ResolveMissing(all, "gone", fencetest.Start)
		if !ok || (r.Settings.Excluded != "") != c.holds || r.Policy.Name != "p0" || !c.holds && len(r.Limits) != c.expect+c.others {
			t.Errorf("%+v: %t %q by %s, %d limits", c, ok, r.Settings.Excluded, r.Policy.Name, len(r.Limits))
		}
		for _, w := range fencetest.TooBig(t, &api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: r}}) {
			t.Errorf("%+v: %s", c, w)
		}
	}
}

func TestExcludedByThePolicy(t *testing.T) {
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Exclude: &api.ExcludedNodes{
		NodeNames: []string{"pet"}, Selector: &api.LabelSelector{MatchLabels: map[string]string{"gpu": "yes"}},
	}}}
	for name, c := range map[string]struct {
		node   string
		labels map[string]string
		want   bool
	}{
		"by name":              {"pet", nil, true},
		"by label":             {"n1", map[string]string{"gpu": "yes"}, true},
		"neither, so it isn't": {"n1", map[string]string{"gpu": "no"}, false},
	} {
		r, _ := policy.ResolvePolicy([]api.FencePolicy{p}, c.node, c.labels)
		if (r.Settings.Excluded != "") != c.want {
			t.Errorf("%s: %q", name, r.Settings.Excluded)
		}
	}
}

// TestWhoDecidesForAMissingNode: it has no labels, so the policies that expect it do.
func TestWhoDecidesForAMissingNode(t *testing.T) {
	late, young := observed.StampOf(fencetest.Start.Add(-time.Hour)), observed.StampOf(fencetest.Start.Add(-time.Minute))
	named := func(name string, since *api.Time, selector *api.LabelSelector) api.FencePolicy {
		p := fencetest.Expecting("a")
		p.Name, p.Spec.Selector = name, selector
		if since == nil {
			p.Spec.MissingNodes, p.Spec.Machines = nil, nil
		} else {
			p.Status.Missing = []api.MissingNode{{NodeName: "a", Since: *since}}
		}
		return p
	}
	db := &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}
	unlisted := named("p", &late, nil)
	unlisted.Spec.MissingNodes.NodeNames = []string{"b"}
	for name, c := range map[string]struct {
		policies []api.FencePolicy
		want     string
	}{
		"the one that expects it, whatever it selects": {[]api.FencePolicy{named("p", &late, db)}, "p p"},
		"not before its time":                          {[]api.FencePolicy{named("p", &young, db)}, ""},
		"one that selects all expects nobody":          {[]api.FencePolicy{named("q", nil, nil)}, ""},
		"whose limits hold all the same":               {[]api.FencePolicy{named("p", &late, db), named("q", nil, nil), named("r", nil, db)}, "p p,q"},
		"two that expect it are a conflict":            {[]api.FencePolicy{named("p", &late, db), named("q", &late, nil)}, "p p,q q"},
		"one that expects it no more":                  {[]api.FencePolicy{unlisted}, ""},
	} {
		r, trigger, ok := policy.ResolveMissing(c.policies, "a", fencetest.Start)
		var limits []string
		for _, l := range r.Limits {
			limits = append(limits, l.Policy)
			if l.Policy == "p" && !cmp.Equal(l.Selector, c.policies[0].Spec.Selector) {
				t.Errorf("%s: the limits count over %v", name, l.Selector)
			}
		}
		if got := strings.TrimSpace(r.Policy.Name + " " + strings.Join(limits, ",") + " " + r.Settings.Conflict); got != c.want || ok != (c.want != "") || ok && !trigger.Missing() {
			t.Errorf("%s: %q, want %q, %+v", name, got, c.want, trigger)
		}
	}
}
