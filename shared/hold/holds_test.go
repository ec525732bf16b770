package hold_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
)

// examples make each row hold.
var examples = map[api.Reason]func(*hold.Input){
	api.PolicyNotUnderstood: func(in *hold.Input) { in.NotUnderstood = "FencePolicy p has spec.x" },
	api.PolicyConflict:      func(in *hold.Input) { in.Policy.Settings.Conflict = "q" },
	api.ControlPlaneNode:    func(in *hold.Input) { in.Node.ControlPlane = true },
	api.Excluded:            func(in *hold.Input) { in.Node.Excluded = "the node is in maintenance" },
	api.NodeBeingDeleted:    func(in *hold.Input) { in.Node.Deleting = "Karpenter deletes it" },
	api.OwnMachine:          func(in *hold.Input) { in.Self = true },
	api.DryRun:              func(in *hold.Input) { in.Policy.Settings.Mode = api.ModeDryRun },
	api.WaitingForApproval:  func(in *hold.Input) { in.Policy.Settings.Mode = api.ModeRequireApproval },
}

// holding is a node that is held by these rows only.
func holding(reasons ...api.Reason) hold.Input {
	in := hold.Input{Policy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}, Settings: api.Settings{Mode: api.ModeEnforce}}}
	for _, why := range reasons {
		examples[why](&in)
	}
	return in
}

// TestEachPairOfHolds: of two rows the earlier one answers, and the later one is told all the same. A mark is
// removed if either row wants that, and none leaves open what the policies say.
func TestEachPairOfHolds(t *testing.T) {
	if all := hold.All(holding(), hold.Groups...); len(all) > 0 {
		t.Errorf("nothing is to hold, and %v does", all)
	}
	for i, a := range hold.Table {
		if examples[a.Reason] == nil {
			t.Fatalf("%s has no example", a.Reason)
		}
		for _, b := range hold.Table[i+1:] {
			all := hold.All(holding(a.Reason, b.Reason), hold.Groups...)
			if a.Group == hold.ByMode && b.Group == hold.ByMode {
				continue // a policy has one mode
			}
			if len(all) != 2 || all[0].Reason != a.Reason || all[1].Reason != b.Reason {
				t.Errorf("%s and %s: %v", a.Reason, b.Reason, all)
				continue
			}
			want := (a.Unmark || b.Unmark) && !a.Unsure && !b.Unsure
			if hold.First(holding(a.Reason, b.Reason), hold.Groups...).Reason != a.Reason || hold.Unmarks(all) != want {
				t.Errorf("%s and %s: marks go is %v", a.Reason, b.Reason, !want)
			}
		}
	}
}

// TestAPersonsWordEndsAHold: a word that the machine is off touches no machine.
func TestAPersonsWordEndsAHold(t *testing.T) {
	for _, r := range hold.Table {
		in := holding(r.Reason)
		in.SaidOff = true
		gone := hold.First(in, hold.Groups...) == nil
		if want := r.Reason == api.NodeBeingDeleted || r.Reason == api.WaitingForApproval; gone != want {
			t.Errorf("%s is gone: %v", r.Reason, gone)
		}
	}
}

// TestEveryAskerKnowsEachHold: each row of the table is known to the gate's decision, to a look at a fence that has
// a slot, to the status of policies, and to the pages of reasons and of noes.
func TestEveryAskerKnowsEachHold(t *testing.T) {
	reasons, noes := page(t, "../../infra/crd/REASONS.md"), page(t, "../fence/WHY.md")
	for _, r := range hold.Table {
		if !strings.Contains(reasons, "| `"+string(r.Reason)+"` |") {
			t.Errorf("REASONS.md has no row of %s", r.Reason)
		}
		if r.Reason != api.OwnMachine && !strings.Contains(noes, "| `"+string(r.Reason)+"` |") {
			t.Errorf("WHY.md has no example of %s", r.Reason)
		}
		in := holding(r.Reason)
		if r.Reason != api.PolicyNotUnderstood {
			if got := decided(in); got != r.Reason {
				t.Errorf("the gate's decision is %q, not %s", got, r.Reason)
			}
		}
		if r.Group == hold.ByPolicy {
			if b := braked(in); b.Why != r.Reason || !b.Stricter && !b.Stopped || b.Unmark != r.Unmark {
				t.Errorf("a fence with a slot is held by %+v, not by %s", b, r.Reason)
			}
		}
		if r.Group != hold.ByMode && !in.Self {
			if got := status(in); got != r.Reason {
				t.Errorf("the status of the policy has %q, not %s", got, r.Reason)
			}
		}
	}
}

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// decided is the reason of a fence that waits for a slot.
func decided(in hold.Input) api.Reason {
	f, _, _ := fencetest.World(fencetest.Start)
	limits := f.Status.Decision.Limits
	fencetest.Spec().To(f)
	f.Spec.NodeName, f.Status.Decision.Limits = "n0", limits
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema}
	seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
	seen.Reserved, seen.Self = nil, in.Self
	settings := &f.Status.Decision.Settings
	settings.Conflict, settings.Mode, settings.ApprovalTimeout.Duration = in.Policy.Settings.Conflict, in.Policy.Settings.Mode, time.Hour
	seen.Node.ControlPlane, seen.Node.Excluded, seen.Node.Deleting = in.Node.ControlPlane, in.Node.Excluded, in.Node.Deleting
	st, act := fence.Decide(f, seen, fencetest.Start)
	if act != "" {
		return api.Reason("action " + act)
	}
	return st.Reason
}

// policies are those that come to the input, and labels those of its node.
func policies(in hold.Input) []api.FencePolicy {
	p := fencetest.LivePolicy()
	p.Spec.ControlPlane.Fence, p.Spec.Mode = new(api.Never), in.Policy.Settings.Mode
	if in.NotUnderstood != "" {
		p.NotUnderstood.Unknown = []string{"spec.x"}
	}
	all := []api.FencePolicy{p}
	if other := in.Policy.Settings.Conflict; other != "" {
		q := *p.DeepCopy()
		q.Name = other
		all = append(all, q)
	}
	return all
}

// braked is what holds a fence that has a slot, as a look sees it.
func braked(in hold.Input) observed.Brakes {
	f, _, l := fencetest.World(fencetest.Start)
	was, _ := admission.Live(policies(holding()), f, observed.Node{Exists: true}, fencetest.Start)
	f.Status.Decision.ResolvedPolicy, f.Status.Phase = was, api.Fencing
	in.Node.Exists = true
	return admission.Against(f, policies(in), in.Node, l, fencetest.Start)
}

// status is what the status of the policy names for the node.
func status(in hold.Input) api.Reason {
	_, c, l := fencetest.World(fencetest.Start)
	c.Fences = nil
	c.Nodes = slices.Clone(c.Nodes[:1])
	c.Nodes[0].ControlPlane, c.Nodes[0].Excluded, c.Nodes[0].Deleting = in.Node.ControlPlane, in.Node.Excluded, in.Node.Deleting
	all := policies(in)
	st := admission.PolicyStatus(&all[0], all, c, l, fencetest.Start)
	if len(st.Held) == 0 {
		return ""
	}
	return st.Held[0].Reason
}
