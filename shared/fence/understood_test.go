package fence_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// strange is what a policy with a field of tomorrow has.
func strange(everywhere bool) api.NotUnderstood {
	return api.NotUnderstood{Unknown: []string{"spec.drainFirst"}, Everywhere: everywhere}
}

// others is a policy of other nodes.
func others(n api.NotUnderstood) api.FencePolicy {
	p := fencetest.LivePolicy()
	p.Name, p.NotUnderstood = "q", n
	p.Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": "x"}}
	return p
}

// notUnderstoodRows are what may come to be not understood between the yes and the Off.
func notUnderstoodRows() map[string]tighter {
	back := func(change func(ps *[]api.FencePolicy, c *admission.Picture, l *api.FenceLedger)) tighter {
		return tighter{change, api.Pending, api.PolicyNotUnderstood}
	}
	return map[string]tighter{
		"the policy has a field of tomorrow": back(func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			(*ps)[0].NotUnderstood = strange(false)
		}),
		"nobody knows its mode and action": back(func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			p := &(*ps)[0]
			p.NotUnderstood, p.Spec.Mode, p.Spec.Action = strange(false), api.ModeDryRun, api.ActionWaitForOff
		}),
		"a policy whose limits hold too has one": back(func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			other := fencetest.LivePolicy()
			other.Name, other.Spec.Precedence, other.NotUnderstood = "q", new(int32(200)), strange(false)
			*ps = append(*ps, other)
		}),
		"a policy of others has one that may be about all": back(func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			*ps = append(*ps, others(strange(true)))
		}),
		"a budget has one": back(func(_ *[]api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(9)})
			c.Budgets[0].NotUnderstood = strange(false)
		}),
		"the ledger has one": back(func(_ *[]api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) { l.NotUnderstood = strange(false) }),
	}
}

// TestAPolicyOfOthersHoldsNothing: what is not understood of it is about its own nodes.
func TestAPolicyOfOthersHoldsNothing(t *testing.T) {
	ps := []api.FencePolicy{fencetest.LivePolicy(), others(strange(false))}
	f := underPolicy(ps[:1], false)
	c, l := cluster(f)
	fencetest.Budget(&c, api.FenceBudgetSpec{Selector: ps[1].Spec.Selector, MaxUnavailable: fencetest.Number(9)})
	c.Budgets[0].NotUnderstood = strange(false)
	if st, act := fence.Decide(f, lookBeforeOff(f, ps, c, l), fencetest.Start); act != fence.Off {
		t.Errorf("%q, %s: %s", act, st.Reason, st.Message)
	}
	ps[1].NotUnderstood.Everywhere, ps[1].DeletionTimestamp = true, &metav1.Time{Time: fencetest.Start}
	if st, act := fence.Decide(f, lookBeforeOff(f, ps, c, l), fencetest.Start); act != fence.Off {
		t.Errorf("one that is being deleted: %q, %s: %s", act, st.Reason, st.Message)
	}
}

// TestWhatWasBegunIsCarriedOnByWhatWasDecided: nothing of a policy that is not understood
// stops a proof, a release or a way back (S25), or is taken over.
func TestWhatWasBegunIsCarriedOnByWhatWasDecided(t *testing.T) {
	ps := []api.FencePolicy{fencetest.LivePolicy()}
	for _, phase := range []api.Phase{api.Fencing, api.Releasing, api.PoweringOn} {
		f := underPolicy(ps, true)
		at := observed.StampOf(fencetest.Start)
		if f.Status.Phase = phase; phase == api.Fencing {
			f.Status.Power.OffAt, f.Status.Power.LastRead = &at, &api.Read{State: api.PoweredOff, At: at}
		}
		c, l := cluster(f)
		want, wantAct := fence.Decide(f, lookBeforeOff(f, ps, c, l), fencetest.Start)
		bad := fencetest.LivePolicy()
		bad.NotUnderstood, bad.Spec.Mode, bad.Spec.Action = strange(true), api.ModeDryRun, api.ActionWaitForOff
		now := []api.FencePolicy{bad}
		seen := lookBeforeOff(f, now, c, l)
		got, act := fence.Decide(f, seen, fencetest.Start)
		if got.Phase != want.Phase || got.Reason != want.Reason || act != wantAct {
			t.Errorf("%s: %q, %s %s: %s; want %q, %s %s", phase, act, got.Phase, got.Reason, got.Message, wantAct, want.Phase, want.Reason)
		}
		if admission.Renew(f, now, seen.Node, fencetest.Start); f.Status.Decision.Settings.Action != api.ActionReboot {
			t.Errorf("%s: it goes on with action %s", phase, f.Status.Decision.Settings.Action)
		}
	}
}

// TestStatusSaysWhatIsNotUnderstood for the policy, its nodes, and those of others that it
// holds; and for a budget.
func TestStatusSaysWhatIsNotUnderstood(t *testing.T) {
	p, q := fencetest.LivePolicy(), others(strange(true))
	_, c, l := fencetest.World(fencetest.Start)
	const words = "FencePolicy q has spec.drainFirst, which this nodefence does not know: upgrade nodefence, or take the field out"
	for _, of := range []*api.FencePolicy{&p, &q} {
		st := admission.PolicyStatus(of, []api.FencePolicy{p, q}, c, l, fencetest.Start)
		for _, typ := range []string{"Accepted", "FencingAllowed"} {
			v := meta.FindStatusCondition(st.Conditions, typ)
			if own := of == &q || typ == "FencingAllowed"; own != (v.Reason == string(api.PolicyNotUnderstood)) || own != (v.Message == words) {
				t.Errorf("%s, %s: %s %s", of.Name, typ, v.Reason, v.Message)
			}
		}
		if of == &p && (st.HeldCount == 0 || st.Held[0].Reason != api.PolicyNotUnderstood || st.FencesAllowed != 0) {
			t.Errorf("%d fences allowed, held: %+v", st.FencesAllowed, st.Held)
		}
	}
	b := api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: api.FenceBudgetSpec{MinAvailable: fencetest.Number(1)}, NotUnderstood: strange(false)}
	st := admission.BudgetStatus(&b, c, l, fencetest.Start)
	for _, typ := range []string{"Accepted", "DisruptionAllowed"} {
		if v := meta.FindStatusCondition(st.Conditions, typ); v.Status != metav1.ConditionFalse || v.Reason != string(api.PolicyNotUnderstood) || st.DisruptionsAllowed != 0 {
			t.Errorf("%d allowed, %s: %+v", st.DisruptionsAllowed, typ, v)
		}
	}
}
