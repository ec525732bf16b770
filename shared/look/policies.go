package look

import (
	"context"
	"slices"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// The ledger's census is an index of the policies: a policy that the census names is read by
// name. That is cheap, and the census is as late as the source's watches. So the census says
// which policies exist, and never that a policy does not exist. What rests on the absence of a
// policy lists the policies: a reservation, a cut, a deletion, the end of a fence, and a refusal
// for good.

// PoliciesShowing reads the FencePolicies that the ledger's census names. If the census does not
// count, or if these policies do not show what the caller is about to miss, it lists all
// policies.
func PoliciesShowing(ctx context.Context, c kube.Reader, shown func([]api.FencePolicy) bool) ([]api.FencePolicy, error) {
	led, err := c.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	if admission.CensusLacks(led, c.Clock().Now()) != "" {
		return c.Policies(ctx)
	}
	named, err := c.PoliciesNamed(ctx, led.Status.Census.Policies)
	if err != nil || shown(named) {
		return named, err
	}
	return c.Policies(ctx)
}

// PoliciesFor reads the policies by which a fence is braked. It lists all of them if the look may
// lead to an action that a new policy stops (S17), and if the census is known to be late: it
// does not name a policy that the record rests on, or a list has just shown the gate a change.
func PoliciesFor(ctx context.Context, c kube.Reader, f *api.NodeFence, acts bool) ([]api.FencePolicy, error) {
	if acts || f.Status.WaitsFor == api.WaitsForPolicies {
		return c.Policies(ctx)
	}
	return PoliciesShowing(ctx, c, func(named []api.FencePolicy) bool { return haveAllOf(named, f.Status.Decision.ResolvedPolicy) })
}

// haveAllOf tells whether policies have every policy that a record rests on.
func haveAllOf(policies []api.FencePolicy, r api.ResolvedPolicy) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(policies, func(p api.FencePolicy) bool { return p.Name == name })
	}
	for _, l := range r.Limits {
		if l.SkipFrom == 0 && !has(l.Policy) { // other limits are a ConfigMap's
			return false
		}
	}
	return r.Policy.Name == "" || has(r.Policy.Name)
}
