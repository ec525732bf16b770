package story

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// lost is when Kubernetes loses a node whose last renewal was 12 s before the
// story begins: the grace of its defaults.
const lost = 38 * time.Second

// suspect begins where the source has seen the Lease stand still for 12 s, and
// Kubernetes still counts the node as Ready.
func suspect(w *world) {
	w.early, w.ready, w.readySince = true, "True", start.Add(-time.Hour)
	w.record.Status.Decision.Trigger = api.Trigger{
		Type: api.TriggerLeaseStill, LeaseStill: &api.LeaseStillTrigger{}, Since: metav1.NewMicroTime(start.Add(-12 * time.Second)),
	}
	w.record.Status.Decision.Settings.EarlyProbe = &api.ProbeSetting{LeaseStillDuration: metav1.Duration{Duration: 12 * time.Second}}
	at(w, lost, func() {
		if !w.alive() && w.ready == "True" {
			w.ready, w.readySince, w.lost = "Unknown", w.now, true
			w.say("           Kubernetes loses the node")
			w.wake(0, "node.unhealthy")
		}
	})
}

// lookBack is the ledger's no to a fence for which only the Lease speaks, until
// every node that was lost in the same moment would show: 23 s after it stood still.
func (w *world) lookBack(seen *observed.Look) {
	shows := start.Add(11 * time.Second)
	if w.early && !w.lost && w.now.Before(shows) {
		seen.Reserved, seen.Verdict = nil, &observed.Verdict{Reason: api.WaitingForTime, Message: "until every node that was lost in the same moment would show", Again: shows.Sub(w.now)}
	}
}

// tooEarly is what must not be done while only the Lease speaks.
func (w *world) tooEarly(a fence.Action) {
	if !w.early {
		return
	}
	if a == fence.Off && !w.lost {
		w.wrong("cut for its Lease alone, at +%s", w.now.Sub(start))
	}
	if a == fence.Isolate && !w.lost && w.writes() {
		w.wrong("marked while it is on, at +%s", w.now.Sub(start))
	}
	if w.storm && (a == fence.Isolate || a == fence.Off || a == fence.Release) {
		w.wrong("%s in a storm, at +%s", a, w.now.Sub(start))
	}
}

// early are the stories of fences that open for a still Lease.
var early = map[string]incident{
	"a Lease stands still, the power is gone": {func(w *world) { suspect(w); w.on = false }, []api.Phase{api.Fenced}, 0},
	"a Lease stands still and moves again": {func(w *world) {
		suspect(w)
		w.stopped = true
		at(w, 20*time.Second, func() { w.stopped = false })
	}, []api.Phase{api.Finished}, 0},
	"a Lease stands still, the kernel is dead": {func(w *world) { suspect(w); w.crashed = true }, []api.Phase{api.Finished}, 1},
	"a Lease stands still, the BMC is dead, then answers": {func(w *world) {
		suspect(w)
		w.crashed, w.bmc = true, "dead"
		at(w, 42*time.Second, func() { w.bmc = "" })
	}, []api.Phase{api.Finished}, 1},
	"a Lease stands still in a storm": {func(w *world) {
		suspect(w)
		w.on, w.storm = false, true
		at(w, 25*time.Second, func() { w.storm = false })
	}, []api.Phase{api.Fenced}, 0},
	"a Lease stands still, the power is back": {func(w *world) {
		suspect(w)
		w.on = false
		at(w, 12500*time.Millisecond, func() { w.powerOn(); w.say("           the power is back") })
	}, []api.Phase{api.Finished}, 0},
	"a Lease stands still, a person aborts": {func(w *world) {
		suspect(w)
		w.crashed = true
		at(w, 13*time.Second, func() { w.record.Spec.Requests.Abort = abort(w); w.wake(0, "asked") })
	}, []api.Phase{api.Finished}, 0},
}
