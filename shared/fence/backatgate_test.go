package fence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAnApprovalHidesNothing: a person's yes answers the question whether this cut may
// be; whatever else became stricter holds all the same, and so does a later cut (S17).
func TestAnApprovalHidesNothing(t *testing.T) {
	approve := func(p *api.FencePolicySpec) { p.Mode = api.ModeRequireApproval }
	for name, c := range map[string]struct {
		live                 func(*api.FencePolicySpec)
		excluded             string
		ControlPlane, served bool
		want                 api.Reason
	}{
		"a person must approve, and has":      {live: approve},
		"the yes was for an earlier cut":      {live: approve, served: true, want: api.WaitingForApproval},
		"the node is excluded":                {live: approve, excluded: "maintenance", want: api.Excluded},
		"it is a control-plane node":          {live: func(p *api.FencePolicySpec) { p.Mode, p.ControlPlane.Fence = api.ModeRequireApproval, new(api.Never) }, ControlPlane: true, want: api.ControlPlaneNode},
		"the action is WaitForOff besides":    {live: func(p *api.FencePolicySpec) { p.Mode, p.Action = api.ModeRequireApproval, api.ActionWaitForOff }, want: api.PolicyChanged},
		"the policy is in DryRun all at once": {live: func(p *api.FencePolicySpec) { p.Mode = api.ModeDryRun }, want: api.DryRun},
	} {
		for _, begun := range []bool{false, true} {
			policies := []api.FencePolicy{fencetest.LivePolicy()}
			f := underPolicy(policies, begun)
			at := metav1.NewTime(fencetest.Start)
			f.Spec.Requests.Approve = &api.Request{FenceNumber: 1, By: "alice", At: at}
			if c.served {
				f.Status.Answers = done(api.AskedApprove, at)
			}
			policies[0].Generation++
			c.live(&policies[0].Spec)
			b := admission.Against(f, policies, observed.Node{Exists: true, UID: "uid-1", Plans: observed.Plans{Excluded: c.excluded}, ControlPlane: c.ControlPlane}, &api.FenceLedger{}, fencetest.Start)
			if b.Stricter != (c.want != "") || b.Stricter && b.Why != c.want {
				t.Errorf("%s, begun %t: stricter %t, %s: %s", name, begun, b.Stricter, b.Why, b.Message)
			}
		}
	}
}

// TestADeviceThatIsNotConfiguredAnyMoreHoldsNothing: the power is cut without it. It went
// to and fro between isolation and power, and kept its slot (S19).
func TestADeviceThatIsNotConfiguredAnyMoreHoldsNothing(t *testing.T) {
	f, now := isolatedFence(specs.Fabric(), api.Fencing)
	at := observed.StampOf(now)
	f.Status.Isolation[0].SeenCutAt, f.Status.Isolation[0].SwitchedByUs = &at, true
	f.Status.Isolation = append(f.Status.Isolation, api.IsolationRecord{Device: "network-9", Driver: "switch", Address: "gone"})
	f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: at}
	st, act := fence.Decide(f, fencetest.Look(f, now, "Unknown", false, "a"), now)
	if act != fence.Off || st.Phase != api.Fencing || len(st.Isolation) != len(f.Status.Decision.Isolation()) {
		t.Errorf("%s, action %q, %d devices", st.Phase, act, len(st.Isolation))
	}
}

// TestABegunReleaseDoesNotAskAgain: the proof by storage alone is made anew while pods go
// one by one, however old the yes is by then (S25).
func TestABegunReleaseDoesNotAskAgain(t *testing.T) {
	for begun, want := range map[bool]api.Phase{true: api.Isolating, false: api.Pending} {
		f, now := isolatedFence(specs.Cut(), api.Isolating)
		at := observed.StampOf(now.Add(-2 * time.Minute))
		f.Status.DecidedAt = &at
		if f.Status.Isolation[0].SwitchedByUs = true; begun {
			f.Status.Release.StartedAt = &at
		}
		st, _ := fence.Decide(f, fencetest.Look(f, now, "Unknown", false, "a"), now)
		if st.Phase != want {
			t.Errorf("begun %t: %s, %s: %s", begun, st.Phase, st.Reason, st.Message)
		}
	}
}
