package gate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// basePolicy fences a node whose Ready is Unknown at once, three unhealthy ones at most.
const basePolicy = `{"selector":{},"precedence":10,"unhealthyConditions":[{"type":"Ready","status":"Unknown","duration":"0s"}],"action":"Reboot","mode":"Enforce","controlPlane":{"fence":"Never"},
	"approvalTimeout":"1h","limits":{"maxUnhealthy":3,"maxConcurrent":1,"stormCoolDown":"1m"}}`

const (
	second      = `{"activityChecks":{"checks":[{"type":"Kubelet"}]}}`
	byNeighbors = `{"activityChecks":{"checks":[{"type":"Neighbors","neighbors":{"count":1}}]}}`
	byJob       = `{"activityChecks":{"checks":[{"type":"Job","job":{"podTemplateName":"one"}}]}}`
	kdump       = `{"kdump":{"firstMessageTimeout":"0s"}}`
	byTCP       = `{"storageCheck":{"type":"TCP","tcp":{"address":"127.0.0.1:1"}}}`
	storageJob  = `{"storageCheck":{"type":"Job","job":{"podTemplateName":"one"}}}`
	early       = `{"earlyProbe":{"leaseStillDuration":"12s"}}`
	podByPod    = `{"release":{"strategy":"ResourceDeletion","resourceDeletion":{}}}`
	first       = `{"release":{"strategy":"ResourceDeletion","resourceDeletion":{"detachFirst":[{}]}}}`
	inZone      = `{"limits":{"maxUnhealthy":9,"maxConcurrent":9,"perDomain":{"topologyKey":"topology.kubernetes.io/zone"}}}`
)

var policyRows = map[string]row{
	"precedence": {from: `10`, to: `90`, ask: decides(func(w *world) {
		dry := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: api.FencePolicySpec{Selector: &api.LabelSelector{}, Precedence: new(int32(50)), Mode: api.ModeDryRun, Action: api.ActionReboot}}
		dry.Spec.UnhealthyConditions = []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown"}}
		w.others = append(w.others, dry)
	})},
	"selector":          {to: `{"matchLabels":{"name":"n5"}}`, ask: decides()},
	"exclude.nodeNames": {to: `["n0"]`, ask: decides()},
	"exclude.selector":  {to: `{"matchLabels":{"name":"n0"}}`, ask: decides()},

	"unhealthyConditions.type":     {from: `"Ready"`, to: `"DiskPressure"`, ask: decides()},
	"unhealthyConditions.status":   {from: `"Unknown"`, to: `"False"`, ask: decides()},
	"unhealthyConditions.duration": {from: `"0s"`, to: `"5m"`, ask: decides()},
	"nodeStartupTimeout":           {from: `"10m"`, to: `"1h"`, ask: started},

	"missingNodes.nodeNames":  {with: `{"missingNodes":{"duration":"10m"}}`, from: `["n1"]`, to: `["gone"]`, ask: overdue},
	"machines.selector":       {with: `{"machines":{"startupTimeout":"10m"}}`, from: `{"matchLabels":{"pool":"web"}}`, to: `{}`, ask: overdue},
	"machines.namespace":      {with: `{"machines":{"startupTimeout":"10m","selector":{}}}`, from: `"other"`, to: `"m"`, ask: overdue},
	"machines.withoutNode":    {with: `{"machines":{"selector":{}},"action":"Reboot"}`, from: `"Report"`, to: `"Delete"`, ask: alone},
	"machines.startupTimeout": {with: `{"machines":{"selector":{}}}`, from: `"10m"`, to: `"1h"`, ask: overdue},
	"missingNodes.duration":   {with: `{"missingNodes":{"nodeNames":["gone"]}}`, from: `"10m"`, to: `"1h"`, ask: overdue},

	"earlyProbe.leaseStillDuration": {with: early, from: `"12s"`, to: `"60s"`, ask: decides(ready, func(w *world) {
		w.fence.Status.Decision.Trigger = api.Trigger{Type: api.TriggerLeaseStill, LeaseStill: &api.LeaseStillTrigger{}}
		w.fence.Status.OpenedAt, w.fence.Status.Lease.StillSince = w.ago(20*time.Second), w.ago(40*time.Second)
		w.ledger.Status.Leases.Still = []api.StillLease{{NodeName: "n0", Renewed: "r", Since: *w.ago(40 * time.Second)}}
	})},

	"activityChecks.checks.type":                  {with: second, from: `"Kubelet"`, to: `"Device"`, ask: checkRound(false)},
	"activityChecks.checks.neighbors.count":       {with: byNeighbors, from: `1`, to: `2`, ask: checkRound(false)},
	"activityChecks.checks.neighbors.topologyKey": {with: byNeighbors, from: `"topology.kubernetes.io/zone"`, to: `"rack"`, ask: checkRound(false)},
	"activityChecks.checks.job.podTemplateName":   {with: byJob, from: `"one"`, to: `"two"`, ask: checkRound(false)},
	"activityChecks.rounds": {with: second, from: `4`, to: `5`, ask: decides(activity(func(w *world, a *api.ActivityRecord) {
		a.Done, a.Failed, a.StartedAt, a.EndedAt, a.Since = 3, 1, w.ago(10*time.Second), nil, w.ago(10*time.Second)
		w.seen.Checked = &observed.Checked{Round: a.Number, Results: []api.CheckResult{{Check: "1 device", Answer: api.AnswerNeither}}}
	}))},
	"activityChecks.failedRounds": {with: second, from: `7`, to: `8`, ask: decides(activity(func(w *world, a *api.ActivityRecord) {
		a.Done, a.Failed, a.FailedAt = 7, 7, w.ago(time.Second)
	}))},
	"activityChecks.interval": {with: second, from: `"60s"`, to: `"10s"`, ask: decides(activity(func(w *world, a *api.ActivityRecord) {
		a.EndedAt = w.ago(30 * time.Second)
	}))},
	"activityChecks.checkTimeout": {with: second, from: `"10s"`, to: `"5m"`, ask: decides(activity(func(w *world, a *api.ActivityRecord) {
		a.StartedAt = w.ago(time.Minute)
	}))},
	"activityChecks.recheckInterval": {with: second, from: `"5m"`, to: `"1m"`, ask: decides(activity(func(w *world, a *api.ActivityRecord) {
		a.Done, a.Failed, a.FailedAt = 8, 8, w.ago(2*time.Minute)
	}))},
	"activityChecks.aliveTimeout":   {with: second, from: `"1h"`, to: `"10m"`, ask: decides(degraded)},
	"activityChecks.onAliveTimeout": {with: `{"activityChecks":{"checks":[],"aliveTimeout":"10m"}}`, from: `"RequireApproval"`, to: `"Fence"`, ask: decides(degraded)},

	"kdump.firstMessageTimeout":     {with: kdump, from: `"5m"`, to: `"60s"`, ask: decides()},
	"kdump.quietDuration":           {with: kdump, from: `"30s"`, to: `"10s"`, ask: decides(dumping)},
	"kdump.timeout":                 {with: kdump, from: `"15m"`, to: `"60s"`, ask: decides(dumping)},
	"kdump.releasePodsWhileDumping": {with: kdump, from: `false`, to: `true`, ask: decides(dumping)},

	"storageCheck.type":                {with: `{"storageCheck":{"tcp":{"address":"127.0.0.1:1"},"job":{"podTemplateName":"one"}}}`, from: `"TCP"`, to: `"Job"`, ask: checkRound(true)},
	"storageCheck.tcp.address":         {with: byTCP, from: `"` + listener.Addr().String() + `"`, to: `"127.0.0.1:1"`, ask: checkRound(true)},
	"storageCheck.job.podTemplateName": {with: storageJob, from: `"one"`, to: `"two"`, ask: checkRound(true)},
	"storageCheck.timeout": {with: byTCP, from: `"10s"`, to: `"5m"`, ask: decides(func(w *world) {
		w.fence.Status.StorageCheck = &api.CheckRound{Number: 1, StartedAt: w.ago(time.Minute)}
	})},
	"storageCheck.validDuration": {with: byTCP, from: `"60s"`, to: `"10s"`, ask: decides(func(w *world) {
		w.fence.Status.StorageCheck = &api.CheckRound{Number: 1, EndedAt: w.ago(30 * time.Second), Results: []api.CheckResult{{Check: "tcp", Answer: api.AnswerNone}}}
	})},

	"limits.maxUnhealthy":   {from: `3`, to: `2`, ask: decides(dead(1, 2))},
	"limits.maxRate.count":  {with: `{"limits":{"maxRate":{"period":"1h"}}}`, from: `2`, to: `1`, ask: decides(begun(3, 30*time.Minute))},
	"limits.maxRate.period": {with: `{"limits":{"maxRate":{"count":1}}}`, from: `"1h"`, to: `"10m"`, ask: decides(begun(3, 30*time.Minute))},

	"limits.perDomain.topologyKey":   {with: `{"limits":{"maxUnhealthy":9,"perDomain":{"maxUnhealthy":2}}}`, from: `"topology.kubernetes.io/zone"`, to: `"rack"`, ask: decides(dead(5, 6, 7, 8))},
	"limits.perDomain.maxUnhealthy":  {with: inZone, from: `2`, to: `3`, ask: decides(dead(1, 2))},
	"limits.perDomain.maxConcurrent": {with: inZone, from: `1`, to: `2`, ask: decides(fenced(3))},
	"limits.maxConcurrent":           {from: `1`, to: `2`, ask: decides(fenced(3))},
	"limits.stormCoolDown": {from: `"1m"`, to: `"0s"`, ask: decides(func(w *world) {
		w.ledger.Status.Storms = []api.Storm{{Policy: "p", Since: *w.ago(time.Minute)}}
	})},
	"limits.perNode.cutsPerDay": {from: `3`, to: `1`, ask: decides(func(w *world) {
		w.fence.Status.Past = []api.PastFence{{ClosedAt: *w.ago(time.Hour), Cuts: 1}}
	})},

	"limits.perNode.onLast": {with: `{"limits":{"perNode":{"cutsPerDay":1}}}`, from: `"Hold"`, to: `"LeaveOff"`, ask: decides(phase(api.Fencing), func(w *world) {
		w.fence.Status.Power.SwitchedByUs, w.fence.Status.Power.Cuts, w.seen.Node = true, 1, observed.Node{} // the Node object is gone
	})},

	"controlPlane.fence": {from: `"Never"`, to: `"WithQuorum"`, ask: decides(func(w *world) {
		w.cluster.Nodes[0].ControlPlane, w.cluster.Etcd = true, map[string]bool{"n0": false, "n1": true, "n2": true}
	})},
	"controlPlane.nodeSelector":  {to: `{}`, ask: decides()},
	"controlPlane.etcdNodeNames": {with: `{"controlPlane":{"fence":"WithQuorum"}}`, to: `["n0","n1","n2"]`, ask: members},
	"action":                     {from: `"Reboot"`, to: `"WaitForOff"`, ask: decides(phase(api.Fencing), reads("On", ""))},
	"drain.timeout":              {from: `"5m"`, to: `"0s"`, ask: decides(lives)},
	"drain.onTimeout": {from: `"Fence"`, to: `"GiveUp"`, ask: decides(lives, phase(api.Draining), func(w *world) {
		w.fence.Status.Drain = &api.DrainRecord{BeganAt: *w.ago(time.Hour), IsolatedAt: w.ago(time.Hour)}
		w.fence.Status.Drain.Spent.Duration, w.seen.Node.Taint = time.Hour, true
		w.seen.Draining = &observed.Draining{Leaving: []string{"a/b"}}
	})},
	"isolation.powerDelay": {from: `"0s"`, to: `"5m"`, ask: decides(func(w *world) {
		w.seen.Node.Taint, w.fence.Status.Placed = true, api.Placed{Taint: true, IsolatedAt: w.ago(time.Minute)}
	})},
	"power.maxLevels": {from: `2`, to: `1`, ask: decides(phase(api.Fencing), reads("", "no answer"), func(w *world) {
		w.fence.Status.Retries = 2
	})},
	"power.offTimeout":    {from: `"60s"`, to: `"10s"`, ask: decides(phase(api.Fencing), offSent, reads("On", ""))},
	"power.attempts":      {from: `3`, to: `1`, ask: decides(phase(api.Fencing), reads("", "no answer"))},
	"power.retryInterval": {from: `"5s"`, to: `"9s"`, ask: decides(phase(api.Fencing), reads("", "no answer"))},
	"power.restarts":      {with: `{"power":{"maxLevels":1}}`, from: `2`, to: `1`, ask: decides(phase(api.Fencing), reads("", "no answer"), func(w *world) { w.fence.Status.Restarts, w.fence.Status.Retries = 1, 2 })},

	"release.strategy":                                          {from: `"TaintAndDelete"`, to: `"ResourceDeletion"`, ask: decides(phase(api.Releasing), provenOff)},
	"release.resourceDeletion.podsPerMinute":                    {with: podByPod, from: `1`, to: `2`, ask: decides(phase(api.Releasing), provenOff)},
	"release.resourceDeletion.respectDisruptionBudgets":         {with: podByPod, from: `false`, to: `true`, ask: decides(phase(api.Releasing), provenOff)},
	"release.resourceDeletion.storageClassNames":                {with: podByPod, to: `["fast"]`, ask: attached()},
	"release.resourceDeletion.detachFirst.persistentVolumeName": {with: first, from: `"pv-2"`, to: `"pv-1"`, ask: attached()},
	"release.resourceDeletion.detachFirst.storageClassName":     {with: first, from: `"slow"`, to: `"quick"`, ask: attached()},
	"release.timeout":                                           {from: `"5m"`, to: `"1m"`, ask: decides(phase(api.Releasing), provenOff)},
	"release.deleteNode":                                        {with: `{"action":"PowerOff"}`, from: `false`, to: `true`, ask: decides(phase(api.Releasing), provenOff, func(w *world) { w.seen.Left = &observed.Left{} })},

	"recovery.bootTimeout": {from: `"15m"`, to: `"1m"`, ask: decides(phase(api.Recovering))},
	"recovery.readyDuration": {from: `"30s"`, to: `"5m"`, ask: decides(phase(api.Recovering), ready, func(w *world) {
		w.fence.Status.ReadySince, w.fence.Status.Lease.StillSince = w.ago(time.Minute), w.ago(time.Second)
	})},
	"recovery.uncordon": {from: `"Automatic"`, to: `"Manual"`, ask: decides(phase(api.Recovering), ready, func(w *world) {
		w.fence.Status.ReadySince, w.fence.Status.Lease.StillSince, w.fence.Status.CutOrReleased = w.ago(time.Minute), w.ago(time.Second), true
	})},

	"mode":            {from: `"Enforce"`, to: `"DryRun"`, ask: decides()},
	"approvalTimeout": {with: `{"mode":"RequireApproval"}`, from: `"1h"`, to: `"10m"`, ask: decides(func(w *world) { w.fence.Status.ApprovalSince = w.ago(30 * time.Minute) })},
	"pauseRequests":   {to: `["upgrade"]`, ask: braked},

	// It is noon in UTC, on a Thursday in January.
	"pauseWindows.days":     {with: `{"pauseWindows":[{"start":"11:30","duration":"1h"}]}`, from: `["Thursday"]`, to: `["Friday"]`, ask: braked},
	"pauseWindows.start":    {with: `{"pauseWindows":[{"duration":"1h"}]}`, from: `"11:30"`, to: `"10:30"`, ask: braked},
	"pauseWindows.duration": {with: `{"pauseWindows":[{"start":"11:30"}]}`, from: `"1h"`, to: `"15m"`, ask: braked},
	"pauseWindows.timeZone": {with: `{"pauseWindows":[{"start":"11:30","duration":"1h"}]}`, from: `"UTC"`, to: `"Europe/Berlin"`, ask: braked},
	"pauseWindows.reason":   {with: `{"pauseWindows":[{"start":"11:30","duration":"1h"}]}`, from: `"switches"`, to: `"firmware"`, ask: worded},
}

var budgetRows = map[string]row{
	"selector":       {with: `{"maxUnavailable":1}`, to: `{"matchLabels":{"name":"n5"}}`, ask: budgets(askedFor, dead(1))},
	"maxUnavailable": {from: `1`, to: `2`, ask: budgets(askedFor, dead(1))},
	"minAvailable":   {from: `"90%"`, to: `8`, ask: budgets(askedFor, dead(1))},
}

func degraded(w *world) {
	activity(func(w *world, a *api.ActivityRecord) { a.Degraded, a.DegradedSince = true, w.ago(30*time.Minute) })(w)
}

// offSent is half a minute after our Off.
func offSent(w *world) {
	w.fence.Status.Power.SwitchedByUs, w.fence.Status.Power.OffAt = true, w.ago(30*time.Second)
}

func askedFor(w *world) {
	ready(w)
	w.fence.Status.Decision.Trigger, w.fence.Status.Decision.AskedBy = api.Trigger{Type: api.TriggerRequest}, []api.AskedBy{{ID: "1", Source: "/me", Type: "t", JoinedAt: *w.ago(0)}}
}

// provenOff is a machine that was seen off, with three pods, of which a disruption
// budget lets none go.
func provenOff(w *world) {
	pod := observed.Pod{Namespace: "d", Name: "p", UID: "u", Ready: true, Budgets: []string{"d/b"}}
	w.fence.Status.Power.SwitchedByUs, w.seen.Left = true, &observed.Left{Delete: []observed.Pod{pod, pod, pod}, Budgets: map[string]observed.Disruption{"d/b": {}}}
	w.fence.Status.Proof = &api.Proof{Type: api.ProofSeenOff, FenceUID: "f0", FenceNumber: 1, NodeUID: "u0", BootIDBefore: "b", At: *w.ago(time.Second)}
}
