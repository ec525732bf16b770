package admission_test

import (
	"testing"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
	"github.com/nodefence/nodefence/shared/look"
)

// TestASlotKnowsEachHold: what holds the node of a fence that has a slot, by its policies, stands against it. Our
// marks leave the node where a row wants that, masked or not.
func TestASlotKnowsEachHold(t *testing.T) {
	against := func(c holdtest.Case) observed.Brakes {
		f, _, l := fencetest.World(fencetest.Start)
		f.Spec.NodeName, f.Status.Phase = c.Node.Name, api.Fencing
		f.Status.Decision.ResolvedPolicy = holdtest.Of(t).Resolved()
		return admission.Against(f, c.Policies, look.NodeFrom(c.Node, ""), l, fencetest.Start)
	}
	knows := func(r hold.Row) bool { return r.Group != hold.ByNode }
	holdtest.Try(t, knows, func(c holdtest.Case) api.Reason { return against(c).Why })
	for _, c := range holdtest.Cases(t) {
		b := against(c)
		var rows []hold.Hold
		for _, r := range c.Rows {
			if knows(r) {
				rows = append(rows, hold.Hold{Row: r})
			}
		}
		if (b.Stricter || b.Stopped) != (len(rows) > 0) || b.Unmark != hold.Unmarks(rows) {
			t.Errorf("%s: a fence with a slot is held by %+v", c.Name(), b)
		}
	}
}

// inPicture has the first node of a picture be that of a case.
func inPicture(c holdtest.Case, p *admission.Picture) {
	n, is := &p.Nodes[0], look.NodeFrom(c.Node, "")
	n.Labels, n.ControlPlane, n.Plans = c.Node.Labels, is.ControlPlane, is.Plans
}

// TestTheStatusKnowsEachHold: the status of the policy names the first row for a node that has no fence. Whatever
// holds it, the node is listed once, and counts as unhealthy.
func TestTheStatusKnowsEachHold(t *testing.T) {
	status := func(c holdtest.Case) api.FencePolicyStatus {
		_, p, l := fencetest.World(fencetest.Start)
		p.Fences, p.Nodes = nil, p.Nodes[:1]
		inPicture(c, &p)
		if c.Record != nil {
			c.Record.Spec.NodeName = p.Nodes[0].Name
			p.Fences = []api.NodeFence{*c.Record}
		}
		return admission.PolicyStatus(&c.Policies[0], c.Policies, p, l, fencetest.Start)
	}
	holdtest.Try(t, func(r hold.Row) bool {
		return r.Group == hold.ByPolicy || r.Group == hold.ByNode && r.Reason != api.OwnMachine
	}, func(c holdtest.Case) api.Reason {
		st := status(c)
		if st.SelectedNodes != 1 || st.UnhealthyNodes != 1 || int(st.HeldCount) != len(st.Held) || len(st.Held) > 1 {
			t.Errorf("%s: %d nodes, %d unhealthy, %d held: %v", c.Name(), st.SelectedNodes, st.UnhealthyNodes, st.HeldCount, st.Held)
		}
		if len(st.Held) == 0 {
			return ""
		}
		return st.Held[0].Reason
	})
}

// TestWhatIsHeldIsCounted: whatever holds an unhealthy node, it counts towards a storm over its policy (S15).
func TestWhatIsHeldIsCounted(t *testing.T) {
	for _, c := range holdtest.Cases(t) {
		for unhealthy, want := range map[int]int{3: 0, 4: 1} {
			f, p, l := fencetest.World(fencetest.Start)
			inPicture(c, &p)
			for i := range p.Nodes {
				p.Nodes[i].Unhealthy = i < unhealthy
			}
			f.Name, f.UID, f.Spec.NodeName, p.Fences = "n1", "f1", "n1", nil
			if v := admission.Admit(f, p, l, fencetest.Start); len(stormsOf("p", l)) != want || (v == nil) != (want == 0) {
				t.Errorf("%s: of %d unhealthy nodes there are %d storms, and the verdict is %+v", c.Name(), unhealthy, len(stormsOf("p", l)), v)
			}
		}
	}
}

// TestHostHAKnowsEachHold: of a healthy node Host HA is disabled, or the node is not eligible, or both, and then
// the first is said. Whose devices need not work is said apart.
func TestHostHAKnowsEachHold(t *testing.T) {
	for _, c := range holdtest.Cases(t) {
		is := look.NodeFrom(c.Node, "")
		h := admission.Host{Name: c.Node.Name, Labels: c.Node.Labels, Here: true, Excluded: is.Excluded, ControlPlane: is.ControlPlane, Policies: c.Policies}
		want := api.HostHAAvailable
		for _, state := range []api.HostHA{api.HostHADisabled, api.HostHAIneligible} {
			if want == api.HostHAAvailable && c.Has(func(r hold.Row) bool { return r.HostHA == state }) {
				want = state
			}
		}
		exempt := c.Has(func(r hold.Row) bool { return r.Exempt })
		if got := admission.HostHA(h); got != want || admission.ToBeFenced(h) == exempt {
			t.Errorf("%s: Host HA is %s, not %s, and it is to be fenced: %v", c.Name(), got, want, admission.ToBeFenced(h))
		}
	}
}
