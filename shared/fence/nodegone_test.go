package fence_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// lostNode is a node without a Node object, and its machine.
type lostNode struct {
	on           bool
	t            *testing.T
	f            api.NodeFence
	now          time.Time
	pods         int
	back         time.Duration
	offs, ons    int
	done         []string
	devicesError string
}

// run decides until the record rests, and carries out what is decided.
func (n *lostNode) run() {
	began := n.now
	for i := range 400 {
		exists := n.back > 0 && n.now.Sub(began) >= n.back
		seen := observed.Look{Me: fmt.Sprint(i), Brakes: observed.Brakes{Looked: true, Counted: true}, Left: &observed.Left{Delete: make([]observed.Pod, n.pods)}}
		if exists {
			seen.Node = observed.Node{Exists: true, UID: "new", Conditions: []observed.Condition{{Type: "Ready", Status: "True"}}}
			seen.Lease = observed.Lease{Exists: true, Renewed: fmt.Sprint(i), Renewal: 10 * time.Second}
		}
		for range 3 { // the turns of one invocation
			st, act := fence.Decide(&n.f, seen, n.now)
			n.f.Status = st
			if act == fence.None {
				break
			}
			n.act(act, &seen)
		}
		if p := n.f.Status.Phase; p == api.Finished || p == api.Failed || p == api.Fenced && n.back == 0 {
			return
		}
		n.now = n.now.Add(max(time.Second, n.f.Status.NextLook.Sub(n.now)))
		if n.now.Sub(began) > 2*time.Minute {
			n.pods = 0 // pod GC
		}
	}
	n.t.Fatalf("it never ends: %s %s %s", n.f.Status.Phase, n.f.Status.Reason, n.f.Status.Message)
}

func (n *lostNode) act(act fence.Action, seen *observed.Look) {
	n.done = append(n.done, string(act))
	seen.Call = nil
	switch act {
	case fence.Resolve:
		if n.f.Status.Decision.DevicesError = n.devicesError; n.devicesError == "" {
			n.f.Status.Decision.Devices = api.Named(api.Binding{Driver: "mem", Address: "a"})
		}
		seen.Resolved = true
	case fence.Reserve:
		at := n.now
		seen.Reserved = &at
	case fence.Read:
		seen.Call = &observed.CallResult{Call: api.CallRead, At: n.now, Power: map[bool]string{true: "On", false: "Off"}[n.on]}
	case fence.Off:
		n.on = false
		n.offs++
		seen.Call = &observed.CallResult{Call: api.CallOff, At: n.now}
	case fence.On:
		if n.pods > 0 {
			n.t.Errorf("switched on while %d pods are left (S4)", n.pods)
		}
		n.on = true
		n.ons++
		seen.Call = &observed.CallResult{Call: api.CallOn, At: n.now}
	case fence.WriteReport:
		seen.Report = &observed.Report{Digest: n.f.Status.Report.Digest}
	case fence.DropFinalizer:
		seen.Finalizer = false
	default:
		n.t.Errorf("%s, and there is no Node that it could be about (S6)", act)
	}
}

// TestAFenceOfAMissingNode switches its machine off and on again, and releases
// nothing (S6).
func TestAFenceOfAMissingNode(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*lostNode)
		phase     api.Phase
		outcome   api.Reason
		offs, ons int
	}{
		"its machine is on, and comes back":           {func(n *lostNode) { n.back = 5 * time.Minute }, api.Finished, api.Recovered, 1, 1},
		"its machine never comes back":                {func(*lostNode) {}, api.Failed, "", 2, 2},
		"pods are left for a while":                   {func(n *lostNode) { n.pods, n.back = 3, 10*time.Minute }, api.Finished, api.Recovered, 1, 1},
		"its machine is off":                          {func(n *lostNode) { n.on = false }, api.Fenced, "", 0, 0},
		"its machine stays off":                       {func(n *lostNode) { n.f.Status.Decision.Settings.Action = api.ActionOff }, api.Fenced, "", 1, 0},
		"the Node is there before its machine is cut": {func(n *lostNode) { n.back = 1 }, api.Finished, api.NodeReplaced, 0, 0},
		"nobody knows its machine":                    {func(n *lostNode) { n.devicesError = "not enrolled" }, api.Failed, "", 0, 0},
		"it is only isolated, which it is":            {func(n *lostNode) { n.f.Status.Decision.Settings.Action = api.ActionIsolate }, api.Fenced, "", 0, 0},
		"with earlyProbe in the policy":               {func(n *lostNode) { n.f.Status.Decision.Settings.EarlyProbe = &api.ProbeSetting{} }, api.Failed, "", 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := func(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Second} }
			n := &lostNode{t: t, now: fencetest.Start, on: true}
			n.f = api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f"}, Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{FenceNumber: 1,
				Decision: api.Decision{Trigger: api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}, Since: observed.StampOf(fencetest.Start.Add(-time.Hour))},
					ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}, Settings: api.Settings{Action: api.ActionReboot, Mode: api.ModeEnforce,
						UnhealthyConditions: []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}},
						Release:             api.ReleaseSettings{Strategy: api.ReleaseTaintAndDelete, Timeout: s(300)},
						Recovery:            api.RecoverySettings{BootTimeout: s(600)}, PerNode: (*api.PerNode)(nil).Settings(),
						Power: api.PowerSettings{MaxLevels: 4, OffTimeout: s(10), Attempts: 3, RetryInterval: s(5), Restarts: 1}}}}}}
			c.change(n)
			n.run()
			st := n.f.Status
			if st.Phase != c.phase || st.Outcome != c.outcome || n.offs != c.offs || n.ons != c.ons {
				t.Errorf("%s, outcome %q, %d off, %d on: %s %s\n%v", st.Phase, st.Outcome, n.offs, n.ons, st.Reason, st.Message, n.done)
			}
		})
	}
}
