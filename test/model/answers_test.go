package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// situation is what stands in the cluster when node a fails, and the answer to the question whether its fence begins.
type situation struct {
	when  string
	plant func(*world)
	// says is the answer: the reason and the message with its numbers; begins where nothing holds the fence.
	says string
	// forAll: what holds the fence holds each fence of policy p, so that the policy says the same.
	forAll bool
	// planned is what the plan says where it says more than the gate, or says it without the reason.
	planned string
}

// begins is the answer where nothing holds the fence.
const begins = "begins"

// situations has a row for each answer of shared/fence/WHY.md that does not wait for time or for a person, and more.
var situations = []situation{
	{"one of ten nodes is down", func(*world) {}, begins, false, ""},
	{"as many are unhealthy as may be", notReady("b", "c"), begins, false, ""},
	{"more are unhealthy than may be", notReady("b", "c", "d"), "TooManyUnhealthy: policy p (generation 1): 4 of 10 nodes are unhealthy, maxUnhealthy is 3 (3)", true, ""},
	{"maxUnhealthy is a percentage", all(notReady("b"), limited(func(l *api.Limits) { l.MaxUnhealthy = new(intstr.FromString("15%")) })),
		"TooManyUnhealthy: policy p (generation 1): 2 of 10 nodes are unhealthy, maxUnhealthy is 15% (1)", true, ""},
	{"no node may be unhealthy", limited(func(l *api.Limits) { l.MaxUnhealthy = new(intstr.FromInt32(0)) }),
		"TooManyUnhealthy: policy p (generation 1): 1 of 10 nodes are unhealthy, maxUnhealthy is 0 (0)", true, ""},
	{"Leases stand still of nodes that are Ready", still("b", "c", "d"), "TooManyUnhealthy: policy p (generation 1): 4 of 10 nodes are unhealthy, maxUnhealthy is 3 (3)", true, ""},
	{"nodes are missing", expects(3), "TooManyUnhealthy: policy p (generation 1): 4 of 13 nodes are unhealthy, maxUnhealthy is 3 (3)", true, ""},
	{"more nodes are missing than a status names", all(expects(64), limited(func(l *api.Limits) { l.MaxUnhealthy = new(intstr.FromString("100%")) })),
		"TooManyUnhealthy: 64 nodes or more that policy p expects have no Node object, or a Machine that failed: too many to count", true, ""},
	{"Machines have failed whose nodes are Ready", failed("b", "c", "d"), "TooManyUnhealthy: policy p (generation 1): 4 of 10 nodes are unhealthy, maxUnhealthy is 3 (3)", true, ""},
	{"a storm cools down", stormed(new(time.Hour)), "StormCoolDown: after the storm under policy p (generation 1), until 2026-01-01T13:00:00Z, unless a person ends it (spec.coolDownEnded of FenceLedger cluster)", true, ""},
	{"a storm is over, and its cool-down too", stormed(new(-time.Minute)), begins, false, ""},
	{"a person has ended the cool-down", all(stormed(new(time.Hour)), recorded(func(w *world, l *api.FenceLedger) {
		l.Spec.CoolDownEnded = &api.CoolDownEnded{By: "ada", Reason: "mended", Until: *stamp(w.now + time.Hour)}
	})), begins, false, ""},
	{"as many fences run as may", runs("b"), "TooManyConcurrent: policy p (generation 1): 1 fences are running, maxConcurrent is 1", true, ""},
	{"the fence of another node began a moment ago", first("b"), "TooManyConcurrent: policy p (generation 1): 1 fences are running, maxConcurrent is 1", true, ""},
	{"one more fence may run", all(runs("b"), limited(func(l *api.Limits) { l.MaxConcurrent = new(int32(2)) })), begins, false, ""},
	{"as many fences began as the rate allows", all(began("b", 30*time.Minute+10*time.Second+300*time.Millisecond), limited(func(l *api.Limits) { l.MaxRate = &api.Rate{Count: 1, Period: *api.DurationOf(time.Hour)} })),
		"TooManyInATime: policy p (generation 1): 1 fences began within 1h0m0s, 1 are allowed; the next in 29m49s", true, ""},
	{"the fences of the rate are older than its period", all(began("b", 2*time.Hour), limited(func(l *api.Limits) { l.MaxRate = &api.Rate{Count: 1, Period: *api.DurationOf(time.Hour)} })), begins, false, ""},
	{"too many are unhealthy in the zone", all(notReady("b"), zoned(1, 9)), "TooManyUnhealthy: policy p (generation 1), topology.kubernetes.io/zone=east: 2 of 5 nodes are unhealthy, perDomain.maxUnhealthy is 1 (1)", false, ""},
	{"too many are unhealthy in another zone", all(notReady("f", "g"), zoned(1, 9)), begins, false, ""},
	{"as many fences run in the zone as may", all(runs("b"), zoned(3, 1)), "TooManyConcurrent: policy p (generation 1), topology.kubernetes.io/zone=east: 1 fences are running, perDomain.maxConcurrent is 1", false, ""},
	{"another policy allows fewer", all(notReady("b"), another(func(s *api.FencePolicySpec) { s.Limits.MaxUnhealthy = new(intstr.FromInt32(1)) })),
		"TooManyUnhealthy: policy q (generation 1): 2 of 10 nodes are unhealthy, maxUnhealthy is 1 (1)", false, ""},
	{"a budget has no room", all(runs("b"), limited(func(l *api.Limits) { l.MaxConcurrent = new(int32(9)) }), budgeted(api.FenceBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1))})),
		"BudgetExhausted: FenceBudget b: 1 of its 10 nodes are being fenced, maxUnavailable is 1 (1)", false, ""},
	{"a budget keeps nine nodes available", all(runs("b"), limited(func(l *api.Limits) { l.MaxConcurrent = new(int32(9)) }), budgeted(api.FenceBudgetSpec{MinAvailable: new(intstr.FromString("90%"))})),
		"BudgetExhausted: FenceBudget b: 1 of its 10 nodes are being fenced, minAvailable is 90% (9)", false, ""},
	{"a budget has room", all(runs("b"), limited(func(l *api.Limits) { l.MaxConcurrent = new(int32(9)) }), budgeted(api.FenceBudgetSpec{MaxUnavailable: new(intstr.FromInt32(2))})), begins, false, ""},
	{"a budget is not understood", all(budgeted(api.FenceBudgetSpec{MaxUnavailable: new(intstr.FromInt32(2))}), strange(budgets+"b")), "PolicyNotUnderstood: FenceBudget b has spec.strange, which this nodefence does not know: upgrade nodefence, or take the field out", false, ""},
	{"the policy is paused", paused, "Paused: policy p (generation 1) is paused by upgrade", true, ""},
	{"another policy of the node is paused", another(func(s *api.FencePolicySpec) { s.PauseRequests = []string{"upgrade"} }), "Paused: policy q (generation 1) is paused by upgrade", false, ""},
	{"a pause window is open", windowed("11:30", "UTC"), "PauseWindow: pause window of policy p: no fence begins until 2026-01-01T12:30:00Z", true, ""},
	{"a pause window is closed", windowed("13:30", "UTC"), begins, false, ""},
	{"a pause window names no time zone that there is", windowed("11:30", "Europe/Atlantis"),
		`PauseWindowInvalid: policy p, pauseWindows[0]: time zone "Europe/Atlantis" is not known: use a name of the IANA database, such as Europe/Berlin; no fence begins until that is corrected`, true, ""},
	{"everything is stopped", stopped, "Stopped: the ledger's stop switch is on", true, ""},
	{"the API server was restored", recorded(func(w *world, l *api.FenceLedger) {
		l.Status.Restored = &api.Restored{SeenAt: w.since(0), From: "1000", To: "600"}
	}), "StateWentBack: the API server's state went back in time: the ledger's resourceVersion was 1000, and was 600 at 2026-01-01T12:00:00Z; a person must confirm (spec.restoreConfirmed of FenceLedger cluster)", true, ""},
	{"the picture of the Leases is old", recorded(func(w *world, l *api.FenceLedger) { l.Status.Leases.ObservedAt = stamp(w.now - 2*time.Minute) }),
		"LeasePictureOld: the picture of the Leases is older than 30s", true, "nodefence has not looked at the Leases since 2026-01-01T11:58:00Z: no fence begins; no source leads: there is no Lease nodefence-system/nodefence-source (LeasePictureOld)"},
	{"the source has watched the Leases for a moment", young,
		"LeasePictureOld: the Leases have been watched for less than one renewal", true, ""},
	{"most Leases stand still", all(still("b", "c", "d", "e", "f"), limited(func(l *api.Limits) { l.MaxUnhealthy = new(intstr.FromString("100%")) })),
		"MostLeasesStale: 6 of 10 Leases stand still: it may be we who are cut off", true, ""},
	{"more Leases stand still than have names", recorded(func(_ *world, l *api.FenceLedger) { l.Status.Leases.StillCount, l.Status.Leases.Total = 3000, 5000 }),
		"TooManyUnhealthy: 3000 of 5000 Leases stand still, more than are kept by name (512): a storm under any limit", true, ""},
	{"a storm goes on while the policy is paused", all(notReady("b", "c", "d"), paused), "Paused: policy p (generation 1) is paused by upgrade", true, ""},
	{"the picture of the Leases is young while the policy is paused", all(young, paused), "Paused: policy p (generation 1) is paused by upgrade", true, ""},
	{"a storm goes on while a pause window is open", all(notReady("b", "c", "d"), windowed("11:30", "UTC")), "PauseWindow: pause window of policy p: no fence begins until 2026-01-01T12:30:00Z", true, ""},
	{"the picture of the Leases is young in a storm", all(young, notReady("b", "c", "d")), "LeasePictureOld: the Leases have been watched for less than one renewal", true, ""},
	{"everything is stopped, and the policy is paused", all(stopped, paused), "Stopped: the ledger's stop switch is on", true, ""},
	{"a storm goes on, and all slots are taken", all(notReady("c", "d"), runs("b")), "TooManyUnhealthy: policy p (generation 1): 4 of 10 nodes are unhealthy, maxUnhealthy is 3 (3)", true, ""},
	{"the policy excludes the node", specified(func(s *api.FencePolicySpec) { s.Exclude = &api.ExcludedNodes{NodeNames: []string{"a"}} }), "Excluded: policy p excludes this node by spec.exclude.nodeNames", false, ""},
	{"a label excludes the node", marked(func(n *corev1.Node) { n.Labels["remediation.medik8s.io/exclude-from-remediation"] = "true" }),
		"Excluded: the node has the label remediation.medik8s.io/exclude-from-remediation=true", false, ""},
	{"the node is in maintenance", marked(func(n *corev1.Node) { tainted(n, "medik8s.io/drain") }), "Excluded: the node is in maintenance (taint medik8s.io/drain)", false, ""},
	{"Karpenter is about to delete the node", marked(func(n *corev1.Node) { tainted(n, "karpenter.sh/disrupted") }), "NodeBeingDeleted: Karpenter is about to delete this node (taint karpenter.sh/disrupted)", false, ""},
	{"the Machine of the node is being deleted", leaves, "NodeBeingDeleted: its Machine m/x has been in deletion since 2026-01-01T00:00:00Z: whoever deletes it ends the machine and frees its work; if that never ends, a person may confirm that the machine is off (spec.requests.confirmOff)", false, ""},
	{"two policies conflict", another(func(s *api.FencePolicySpec) { s.Precedence = nil }),
		"PolicyConflict: policies p and q have the same precedence and both select this node: give one of them another spec.precedence, or selectors that do not both select it", false, ""},
	{"the selector can't be read", specified(func(s *api.FencePolicySpec) {
		s.Selector.MatchExpressions = []api.LabelRequirement{{Key: "pool", Operator: "in", Values: []string{"x"}}}
	}), `PolicyNotUnderstood: FencePolicy p has spec.selector.matchExpressions[0].operator "in", which this nodefence does not know`, true, ""},
	{"the node is one of the control plane", marked(func(n *corev1.Node) { n.Labels[api.ControlPlaneLabel] = "" }),
		"ControlPlaneNode: policy p (generation 1) never fences control-plane nodes (controlPlane.fence: Never); the node counts as one by label node-role.kubernetes.io/control-plane", false, ""},
	{"etcd would lose its quorum", planes(map[string]bool{"a": true, "b": true, "c": false}), "EtcdQuorum: etcd has 3 members, 1 of them healthy without this one (not c: its pod etcd-c is not Ready), and needs 2", false, ""},
	{"etcd keeps its quorum", planes(map[string]bool{"a": true, "b": true, "c": true}), begins, false, ""},
	{"the policy has a field that is not known", strange(policies + "p"), "PolicyNotUnderstood: FencePolicy p has spec.strange, which this nodefence does not know: upgrade nodefence, or take the field out", true, ""},
	{"the ledger has a field that is not known", strange(theLedger), "PolicyNotUnderstood: FenceLedger cluster has spec.strange, which this nodefence does not know: upgrade nodefence, or take the field out", true, ""},
	{"a cut of the node was none", fenced(func(_ *world, st *api.NodeFenceStatus) {
		st.Refuted = &api.Refutation{FenceNumber: 1, Device: "ipmi 192.0.2.7:623", Level: 1, BootID: "boot-0"}
	}), "CutRefuted: fence 1 cut the power", false, ""},
	{"the node was cut too often today", fenced(func(w *world, st *api.NodeFenceStatus) {
		st.Past = []api.PastFence{{FenceNumber: 1, Cuts: 3, ClosedAt: w.since(time.Hour)}}
	}), "NodeFencedTooOften: power was cut 3 times in 24 hours, allowed are 3 (limits.perNode.cutsPerDay)", false, ""},
	{"the node has no device", func(w *world) { w.remove(configMaps + "fence-config-node-a") }, "BindingInvalid: no binding: there is no ConfigMap fence-config-node-a", false, "no binding: there is no ConfigMap fence-config-node-a"},
	{"the configuration of the device has a wrong parameter", func(w *world) {
		of(w, configMaps+"fence-config-node-a", func(m *corev1.ConfigMap) { m.Data["fence-method-bmc"] += "\npasword=x" })
	}, `BindingInvalid: ConfigMap fence-config-node-a, key fence-method-bmc, line 6: unknown parameter "pasword" for driver ipmi`, false,
		`ConfigMap fence-config-node-a, key fence-method-bmc, line 6: unknown parameter "pasword" for driver ipmi`},
	{"the device has refused the account", fenced(func(w *world, st *api.NodeFenceStatus) {
		st.Power.LastError = "wrong password"
		st.Power.Denied = []api.Denied{{Device: "ipmi 192.0.2.7:623", Count: 3, At: w.since(time.Minute)}}
	}), "DeviceDenied: the device refused the account 3 times", false, ""},
	{"as many Jobs of checks run as may", all(specified(func(s *api.FencePolicySpec) {
		s.ActivityChecks = &api.ActivityChecks{Checks: []api.ActivityCheck{{Type: api.CheckNeighbors, Neighbors: &api.NeighborsCheck{Count: new(int32(3))}}}}
	}), recorded(func(w *world, l *api.FenceLedger) {
		l.Status.Checking = []api.CheckingFence{{NodeName: "b", FenceUID: "uid-b", FenceNumber: 1, Jobs: 24, At: *stamp(w.now), Until: *stamp(w.now + time.Minute)}}
	})), "TooManyChecks: 24 Jobs of other checks may run, 0 of older fences are next, this round has 3, and spec.checks.concurrent of FenceLedger cluster is 25", false, ""},
	{"no device is touched, and nobody has confirmed", all(specified(func(s *api.FencePolicySpec) { s.Action = api.ActionWaitForOff }), func(w *world) { w.remove(configMaps + "fence-config-node-a") }),
		"WaitingForConfirmation: no device is touched under policy p: a person must confirm that the machine is off (spec.requests.confirmOff); its device can't be read either: no binding: there is no ConfigMap fence-config-node-a", false, ""},
}

// paused has policy p be paused.
func paused(w *world) {
	specified(func(s *api.FencePolicySpec) { s.PauseRequests = []string{"upgrade"} })(w)
}

// stopped has the ledger be stopped.
func stopped(w *world) { recorded(func(_ *world, l *api.FenceLedger) { l.Spec.Stop = true })(w) }

// young has the source have looked at the Leases for a moment only.
func young(w *world) {
	recorded(func(w *world, l *api.FenceLedger) { l.Status.Leases.Since = stamp(w.now - time.Second) })(w)
}
