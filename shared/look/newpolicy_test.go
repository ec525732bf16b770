package look_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

// aboutToCut is a cluster in which node w has a slot, reads on, and is cut by the next look.
func aboutToCut() (*planes, *api.NodeFence) {
	c := newPlanes()
	c.policies[0].Spec.Precedence = new(int32(1))
	c.node("w", corev1.ConditionUnknown)
	f := c.open("w")
	c.counted(time.Now())
	at := observed.StampOf(time.Now())
	f.Status.Phase, f.Status.DecidedAt, f.Status.PhaseSince = api.Fencing, &at, &at
	f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: at}
	f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(c.policies, "w", nil)
	c.ledger.Status.Reservations = []api.Reservation{{NodeName: "w", FenceUID: f.UID, FenceNumber: 1, At: at, FenceVersion: "1", CountedBy: []api.CountedBy{{Policy: "p"}}}}
	c.ledger.Status.UnderWay = []api.UnderWay{{NodeName: "w", FenceUID: f.UID, FenceNumber: 1}}
	return c, f
}

// looked is the next look at a fence, and what of the policies and budgets was asked for.
func looked(t *testing.T, c *planes, f *api.NodeFence) (observed.Brakes, []string) {
	t.Helper()
	s := c.served()
	raw, _ := json.Marshal(c.ledger)
	s.objects[ledgerPath] = string(raw)
	s.objects["/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/w"] = aLease
	var seen observed.Look
	l := look.Looker{Client: s.client(t)}
	if err := l.At(t.Context(), f, &seen, 0); err != nil {
		t.Fatal(err)
	}
	asked := slices.DeleteFunc(s.asked, func(path string) bool {
		return !slices.Contains([]string{policiesPath, policiesPath + "/p", budgetsPath, budgetsPath + "/b"}, path)
	})
	slices.Sort(asked)
	return seen.Brakes, asked
}

// TestANewPolicyHoldsTheNextOff: the policies are listed before a cut. So a policy that the
// census of a late source does not name is a brake all the same (S17: the reason must still
// hold).
func TestANewPolicyHoldsTheNextOff(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.FencePolicy)
		want   observed.Brakes
	}{
		"no other policy": {nil, observed.Brakes{}},
		"it decides, and is in DryRun": {
			func(q *api.FencePolicy) { q.Spec.Mode, q.Spec.Precedence = api.ModeDryRun, new(int32(-1)) },
			observed.Brakes{Changed: true, Stricter: true, Unmark: true, Why: api.PolicyChanged, Message: "policy q (generation 1) decides for this node now; it was admitted under policy p"},
		},
		"its limits hold, and it is paused": {
			func(q *api.FencePolicy) { q.Spec.Precedence, q.Spec.PauseRequests = new(int32(10)), []string{"ann"} },
			observed.Brakes{Changed: true, Paused: true, Message: "policy q (generation 1) is paused by ann"},
		},
		"its limits hold, and let nothing begin": {
			func(q *api.FencePolicy) {
				q.Spec.Precedence, q.Spec.Limits.MaxUnhealthy = new(int32(10)), new(intstr.FromString("20%"))
			},
			observed.Brakes{Changed: true, Storm: true, Why: api.TooManyUnhealthy, Message: "policy q (generation 1): 2 of 5 nodes are unhealthy, maxUnhealthy is 20% (1)"},
		},
	} {
		for _, census := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", by census", false: ", by lists"}[census], func(t *testing.T) {
				is, f := aboutToCut()
				if !census {
					is.ledger.Status.Census = nil
				}
				if c.change != nil {
					q := *is.policies[0].DeepCopy()
					q.Name, q.Generation = "q", 1
					c.change(&q)
					is.policies = append(is.policies, q)
				}
				want := c.want
				want.Looked, want.Counted = true, true
				got, _ := looked(t, is, f)
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// TestANewBudgetHoldsTheNextOff, as a new policy does (S17).
func TestANewBudgetHoldsTheNextOff(t *testing.T) {
	is, f := aboutToCut()
	b := api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	b.Spec.Selector, b.Spec.MaxUnavailable = policy.EveryNode, new(intstr.FromInt32(0))
	is.budgets = append(is.budgets, b)
	got, _ := looked(t, is, f)
	want := observed.Brakes{Looked: true, Counted: true, Storm: true, Why: api.BudgetExhausted, Message: "FenceBudget b: 0 of its 5 nodes are being fenced, maxUnavailable is 0 (0)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestPoliciesAreListedBeforeAnAction, and read by name in a look that only waits: a list of
// what was listed a moment before is slow. Where the census lacks a policy of the record, that is
// no sign that the policy is gone, and no fence ends for it.
func TestPoliciesAreListedBeforeAnAction(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*planes, *api.NodeFence)
		want   []string
	}{
		"a cut may follow":      {func(*planes, *api.NodeFence) {}, []string{budgetsPath, policiesPath}},
		"it waits for its turn": {func(_ *planes, f *api.NodeFence) { f.Status.Phase = api.Pending }, []string{policiesPath + "/p"}},
		"a list has shown a change": {func(_ *planes, f *api.NodeFence) {
			f.Status.Phase, f.Status.WaitsFor = api.Pending, api.WaitsForPolicies
		}, []string{policiesPath}},
		"the census lacks its policy": {func(c *planes, f *api.NodeFence) { f.Status.Phase, c.ledger.Status.Census.Policies = api.Pending, nil }, []string{policiesPath}},
		"no census":                   {func(c *planes, f *api.NodeFence) { f.Status.Phase, c.ledger.Status.Census = api.Pending, nil }, []string{policiesPath}},
	} {
		t.Run(name, func(t *testing.T) {
			is, f := aboutToCut()
			c.change(is, f)
			got, asked := looked(t, is, f)
			if d := cmp.Diff(c.want, asked); d != "" {
				t.Error(d)
			}
			if got.Gone || got.Stricter || got.Changed {
				t.Errorf("it is held by %s: %s", got.Why, got.Message)
			}
		})
	}
}
