package fence_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/test/golden"
)

// noes are situations in which a node is not fenced, besides a situation for each row of the table of package hold.
// Each leaves its word and its numbers on the NodeFence (S28), and so in the policy's status.
var noes = []struct {
	when   string
	change func(*api.NodeFence, *observed.Look, *admission.Picture, *api.FenceLedger)
}{
	{"its condition does not hold for long enough", func(f *api.NodeFence, _ *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		f.Status.Decision.Settings.UnhealthyConditions[0].Duration.Duration = 5 * time.Minute
	}},
	{"too many nodes are unhealthy: a storm", func(_ *api.NodeFence, _ *observed.Look, c *admission.Picture, _ *api.FenceLedger) {
		for i := range 5 {
			c.Nodes[i].Unhealthy = true
		}
	}},
	{"a storm has just ended", func(_ *api.NodeFence, _ *observed.Look, _ *admission.Picture, l *api.FenceLedger) {
		until := observed.StampOf(fencetest.Start.Add(4 * time.Minute))
		l.Status.Storms = []api.Storm{{Policy: "p", Since: observed.StampOf(fencetest.Start.Add(-time.Hour)), CoolDownUntil: &until}}
	}},
	{"as many fences as allowed are under way", func(_ *api.NodeFence, _ *observed.Look, c *admission.Picture, _ *api.FenceLedger) {
		c.Fences = append(c.Fences, fencetest.Running("n7", "f7", api.Fencing))
	}},
	{"as many as the rate allows began lately", func(f *api.NodeFence, _ *observed.Look, _ *admission.Picture, l *api.FenceLedger) {
		fencetest.Limits(f).MaxRate = &api.ResolvedRate{Count: 1, Period: metav1.Duration{Duration: time.Hour}}
		fencetest.Admitted(l, "n3", 50*time.Minute)
	}},
	{"a FenceBudget has no room", func(f *api.NodeFence, _ *observed.Look, c *admission.Picture, _ *api.FenceLedger) {
		fencetest.Limits(f).MaxConcurrent = 9
		c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Fencing))
		fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
	}},
	{"as many Jobs of checks as allowed run", func(f *api.NodeFence, s *observed.Look, _ *admission.Picture, l *api.FenceLedger) {
		f.Status.Decision.Settings.ActivityChecks = &api.ActivitySettings{Rounds: 10, FailedRounds: 8, Checks: []api.CheckSettings{{Type: api.CheckNeighbors, Neighbors: &api.NeighborsSettings{Count: 3}}}}
		until := observed.StampOf(fencetest.Start.Add(time.Minute))
		l.Status.Checking = []api.CheckingFence{{NodeName: "n7", FenceUID: "f7", FenceNumber: 1, Jobs: 24, At: observed.StampOf(fencetest.Start), Until: until}}
		s.MayCheck = false
	}},
	{"the node was fenced too often today", func(f *api.NodeFence, _ *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		f.Status.Decision.Settings.PerNode.CutsPerDay = 1
		f.Status.Past = []api.PastFence{{Cuts: 1, ClosedAt: observed.StampOf(fencetest.Start)}}
	}},
	{"a policy is paused", func(_ *api.NodeFence, s *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		s.Brakes = observed.Brakes{Looked: true, Paused: true, Message: "policy p is paused by upgrade-controller"}
	}},
	{"a pause window of a policy that selects it is open", func(_ *api.NodeFence, s *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		w := fencetest.Window("22:00", 8*time.Hour, "Europe/Berlin", "Wednesday")
		w.Reason = "new firmware for the switches"
		berlin, _ := time.LoadLocation("Europe/Berlin")
		s.Brakes.Windows, s.Brakes.Zones = []policy.Windows{{Policy: "p", Windows: []api.PauseWindowRule{w}}}, policy.Zones{"Europe/Berlin": berlin}
	}},
	{"a pause window can't be read", func(_ *api.NodeFence, s *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		s.Brakes.Windows = []policy.Windows{{Policy: "p", Windows: []api.PauseWindowRule{fencetest.Window("22:00", 8*time.Hour, "Europe/Atlantis")}}}
	}},
	{"the cluster-wide stop is on", func(_ *api.NodeFence, s *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		s.Brakes = observed.Brakes{Looked: true, Stopped: true, Message: "the ledger's stop switch is on"}
	}},
	{"no policy selects it any more: its fence ends", func(_ *api.NodeFence, s *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		s.Brakes = admission.Against(&api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "n0"}, Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p", Generation: 3}}}}}, nil, s.Node, &api.FenceLedger{}, fencetest.Start)
	}},
	{"the API server was restored from a backup", func(_ *api.NodeFence, _ *observed.Look, _ *admission.Picture, l *api.FenceLedger) {
		l.Status.Restored = fencetest.Restored(0)
	}},
	{"the policy excludes the node", func(f *api.NodeFence, _ *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		f.Status.Decision.Settings.Excluded = "policy p excludes this node by spec.exclude.nodeNames"
	}},
	{"its policy's selector can't be read", func(f *api.NodeFence, _ *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		f.Status.Decision.Settings.Excluded = policy.Unclear(&api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{
			Selector: &api.LabelSelector{MatchExpressions: []api.LabelRequirement{{Key: "pool", Operator: "in", Values: []string{"x"}}}}}})
	}},
	{"its Machine is being deleted", func(_ *api.NodeFence, s *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		s.Node.Deleting = "its Machine m/x has been in deletion since 2026-01-01T00:00:00Z: whoever deletes it ends the machine and frees its work; if that never ends, a person may confirm that the machine is off (spec.requests.confirmOff)"
	}},
	{"etcd would lose its quorum", func(f *api.NodeFence, s *observed.Look, c *admission.Picture, _ *api.FenceLedger) {
		s.Node.ControlPlane = true
		fencetest.ControlPlane(f, c, false, true, false)
		c.EtcdFrom = map[string]string{"n2": "its pod etcd-n2 is not Ready"}
	}},
	{"no device is touched, and nobody has confirmed", func(f *api.NodeFence, s *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		f.Status.Decision.Settings.Action, f.Status.Decision.Devices, s.Resolved = api.ActionWaitForOff, nil, true
	}},
	{"its binding is wrong", func(f *api.NodeFence, s *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		f.Status.Decision.Devices, s.Resolved = nil, true
		f.Status.Decision.DevicesError = "ConfigMap fence-config-node-n0, key fence-method-bmc-off, line 3: unknown parameter pasword for driver ipmi"
	}},
	{"its device has refused the account three times in a row", func(f *api.NodeFence, _ *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		f.Status.Power.LastError = "mend its user, its password or what it may do: Secret bmc-n0, key password: device denied access: wrong password"
		f.Status.Power.Denied = []api.Denied{{Device: f.Status.Decision.Power(0).Driver + " " + f.Status.Decision.Power(0).Address, Count: 3, At: observed.StampOf(fencetest.Start.Add(time.Hour))}}
	}},
	{"a switch that must cut it off has refused the account three times in a row", func(f *api.NodeFence, _ *observed.Look, _ *admission.Picture, _ *api.FenceLedger) {
		b := api.Binding{Driver: "fence_ifmib", Address: "10.0.0.2#7", Role: api.RoleNetwork, Must: true}
		fencetest.Cutting(&f.Status.Decision, b)
		f.Status.Isolation = []api.IsolationRecord{{DeviceRecord: api.DeviceRecord{LastError: "mend its user, its password or what it may do: Secret sw-2, key community: device denied access: wrong password"}, Device: "network-1", Driver: b.Driver, Address: b.Address}}
		f.Status.Power.Denied = []api.Denied{{Device: b.Driver + " " + b.Address, Count: 3, At: observed.StampOf(fencetest.Start.Add(time.Hour))}}
	}},
	{"nodefence itself may be cut off: most Leases stand still", func(f *api.NodeFence, _ *observed.Look, _ *admission.Picture, l *api.FenceLedger) {
		fencetest.Limits(f).MaxUnhealthy = *fencetest.Percent("100%")
		for i := range 8 {
			l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: fmt.Sprintf("n%d", i), Stale: true})
		}
	}},
}

// TestGeneratedNoes: WHY.md says what stands on the record in each situation.
func TestGeneratedNoes(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Why is a node not being fenced?\n\nGenerated by `make generate` from what the gate decides: do not edit. `kubectl get nfence NODE -o wide`\nshows REASON and MESSAGE, `kubectl describe fencepolicy` the same under `status.held`, and the log,\nthe metric and the Event of the NodeFence have the same reason.\n\n| when | REASON | MESSAGE | what to do |\n|---|---|---|---|\n")
	remedies := remediesOf(t)
	say := func(when string, reason api.Reason, message string) {
		if reason == "" || message == "" {
			t.Errorf("%s: %q %q", when, reason, message)
		}
		if remedies[reason] == "" {
			t.Errorf("%s: infra/crd/REASONS.md does not say what to do about %s", when, reason)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", when, reason, message, remedies[reason])
	}
	for _, n := range noes {
		reason, message := refusal(n.change)
		say(n.when, reason, message)
	}
	for _, r := range hold.Rows() {
		st, _ := atTheGate(holdtest.Of(t, r), false)
		say(r.Means, st.Reason, st.Message)
	}
	fmt.Fprintf(&b, "\n`%s` may stand there for some seconds: somebody reads the node's device for `kubectl get fencetargets`\nright now, and one at a time speaks with a device. The message says until when at most.\n", api.DeviceBeingRead)
	golden.File(t, "WHY.md", b.String())
}

// refusal is what the gate says: by itself, or by the ledger's one step.
func refusal(change func(*api.NodeFence, *observed.Look, *admission.Picture, *api.FenceLedger)) (api.Reason, string) {
	f, c, l := fencetest.World(fencetest.Start)
	limits := f.Status.Decision.Limits
	uid := f.UID
	fencetest.Spec().To(f)
	f.Spec.NodeName, f.Status.Decision.Limits, f.UID = "n0", limits, uid
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema}
	seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
	seen.Reserved = nil
	change(f, &seen, &c, l)
	st, act := fence.Decide(f, seen, fencetest.Start)
	f.Status = st
	var v *observed.Verdict
	switch act {
	case fence.Reserve:
		v = admission.Admit(f, c, l, fencetest.Start)
	case fence.AskChecks:
		v = admission.AdmitChecks(f, c.Fences, c, l, fencetest.Start)
	default:
		return st.Reason, st.Message
	}
	if v == nil {
		return "", ""
	}
	return v.Reason, v.Message
}

// remediesOf is what to do about each reason, as the page of all reasons says.
func remediesOf(t *testing.T) map[api.Reason]string {
	t.Helper()
	page, err := os.ReadFile("../../infra/crd/REASONS.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[api.Reason]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 3 && strings.HasPrefix(cells[0], "| `") {
			all[api.Reason(strings.Trim(cells[0], "| `"))] = strings.TrimSpace(strings.TrimSuffix(cells[2], "|"))
		}
	}
	return all
}
