package story

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// budget says for how long the pod's disruption budget holds it.
type budget struct {
	until   time.Time
	leaving bool
}

const budgetWords = "default/db-0: The disruption budget db needs 1 healthy pods and has 1 currently"

// drains is a node that lives, whose fence somebody asks for, under spec.drain.
func (w *world) drains(timeout, held time.Duration, on api.DrainTimeoutAction, wish api.DrainWish) {
	dec := &w.record.Status.Decision
	dec.Settings.Drain = api.DrainSettings{Timeout: metav1.Duration{Duration: timeout}, OnTimeout: on}
	dec.Trigger = api.Trigger{Type: api.TriggerRequest, Since: metav1.NewMicroTime(start)}
	dec.AskedBy = []api.AskedBy{{ID: "1", Source: "/ada", Type: "t", User: "ada", Reason: "no cooling", Drain: wish, JoinedAt: metav1.NewMicroTime(start)}}
	w.ready, w.budget = "True", &budget{until: start.Add(held)}
	for _, after := range []time.Duration{55 * time.Second, 2 * time.Minute} {
		at(w, after, func() { // Kubernetes loses a node that is off or dead by then
			if !w.alive() && w.ready == "True" {
				w.ready, w.readySince = "Unknown", w.now
				w.say("           Kubernetes loses the node")
				w.wake(0, "node.unhealthy")
			}
		})
	}
}

// onNode is what of the node's work has still to leave it.
func (w *world) onNode() *observed.Draining {
	on := &observed.Draining{}
	switch {
	case w.left < 2 || w.budget == nil:
	case w.budget.leaving:
		on.Leaving = []string{"default/db-0"}
	default:
		on.Evict = []observed.Pod{{Namespace: "default", Name: "db-0", UID: "pod"}}
	}
	return on
}

// evict asks the pod to leave: its kubelet ends it within seconds, unless its budget holds it.
func (w *world) evict() *observed.Evicted {
	switch {
	case w.paused:
		w.wrong("a pod is asked to leave while everything is paused, at +%s", w.now.Sub(start)) // S25
	case w.now.Before(w.budget.until):
		return &observed.Evicted{Held: []string{budgetWords}}
	case !w.budget.leaving:
		w.budget.leaving = true
		w.say("           the pod is asked to leave")
		w.effects = append(w.effects, effect{w.now.Add(2 * time.Second), func() {
			if w.alive() {
				w.left = 0
				w.say("           the pod has left, and starts elsewhere")
			}
		}})
	}
	return &observed.Evicted{}
}

// drainStep carries out what concerns a drain, or asks for a round of checks; false for any other action.
func (w *world) drainStep(a fence.Action, seen *asks) bool {
	switch a {
	case fence.AskDrain:
		seen.mayDrain = true
	case fence.AskChecks:
		seen.mayCheck = true
	case fence.Evict:
		seen.evicted = w.evict()
	default:
		return false
	}
	return true
}

// asks are what an invocation has asked so far about a drain, and about checks.
type asks struct {
	mayDrain bool
	mayCheck bool
	evicted  *observed.Evicted
}

// drained are the stories of nodes that still live when their machine is to be cut.
var drained = map[string]incident{
	"a node that lives is drained, and cut": {func(w *world) {
		w.drains(5*time.Minute, 20*time.Second, api.DrainThenFence, "")
	}, []api.Phase{api.Finished}, 1},
	"a node that lives is cut without a drain": {func(w *world) {
		w.drains(5*time.Minute, 20*time.Second, api.DrainThenFence, api.DrainSkip)
	}, []api.Phase{api.Finished}, 1},
	"a node that lives can't be drained in time, and is cut": {func(w *world) {
		w.drains(30*time.Second, time.Hour, api.DrainThenFence, "")
	}, []api.Phase{api.Finished}, 1},
	"a node that lives can't be drained, and is given up": {func(w *world) {
		w.drains(30*time.Second, time.Hour, api.DrainThenGiveUp, "")
	}, []api.Phase{api.Finished}, 0},
	"a node with a problem can't be drained, waits, and is drained once more for a user": {func(w *world) {
		w.drains(30*time.Second, 3*time.Minute, api.DrainThenGiveUp, "")
		by := &w.record.Status.Decision.AskedBy[0]
		by.User, by.Reason, by.Type = "node problem TaskHung", "TaskHung, reported 3 times", api.ProblemEventType
		w.record.Status.Decision.Trigger.Type = api.TriggerProblem
		at(w, 5*time.Second, func() { w.record.Spec.Requests.Approve = ask(w); w.wake(0, "asked") })
		at(w, 5*time.Minute, func() { w.wanted("2") })
	}, []api.Phase{api.Finished}, 1},
	"a node falls silent while it is drained": {func(w *world) {
		w.drains(5*time.Minute, time.Hour, api.DrainThenGiveUp, "")
		at(w, 12*time.Second, func() { w.crashed = true; w.say("           the node crashes") })
	}, []api.Phase{api.Finished}, 1},
	"a node that is drained is paused, and goes on": {func(w *world) {
		w.drains(60*time.Second, 20*time.Second, api.DrainThenFence, "")
		at(w, 5*time.Second, func() { w.paused = true; w.wake(0, "asked") })
		at(w, 5*time.Minute, func() { w.paused = false; w.say("           the policy is paused no more") })
	}, []api.Phase{api.Finished}, 1},
	"a drain is aborted": {func(w *world) {
		w.drains(5*time.Minute, time.Hour, api.DrainThenFence, "")
		at(w, 10*time.Second, func() { w.record.Spec.Requests.Abort = abort(w); w.wake(0, "asked") })
	}, []api.Phase{api.Finished}, 0},
}
