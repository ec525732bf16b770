package story

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// wanted is what the gate does with a request for the fence of a node whose record is
// open: it joins that one.
func (w *world) wanted(id string) {
	if why := fence.Ends(&w.record, w.uid); why != "" {
		w.say("           ada asks for its fence, event %s: %s", id, why)
		return
	}
	at := metav1.NewMicroTime(w.now)
	words := fence.Join(&w.record, api.AskedBy{ID: id, Source: "/ada", Type: "t", User: "ada", Reason: "no cooling", JoinedAt: at})
	w.say("           ada asks for its fence, event %s: %s", id, words)
	w.wake(0, "asked")
}

// patient has the policy wait five minutes for a node that is lost.
func patient(w *world) {
	w.record.Status.Decision.Settings.UnhealthyConditions[0].Duration = metav1.Duration{Duration: 5 * time.Minute}
}

// asked are the stories of requests that come while a fence is open (S7).
var asked = map[string]incident{
	"a node crashes, and somebody asks for its fence twice": {func(w *world) {
		patient(w)
		w.crashed = true
		at(w, 20*time.Second, func() { w.wanted("1") })
		at(w, 25*time.Second, func() { w.wanted("2") })
	}, []api.Phase{api.Finished}, 1},
	"a node is cut off, and somebody asks for its fence before it heals": {func(w *world) {
		patient(w)
		w.cut, w.paused = true, true
		at(w, 20*time.Second, func() { w.wanted("1") })
		at(w, 40*time.Second, func() { w.cut = false; w.wake(0, "node.healthy") })
		at(w, 2*time.Minute, func() { w.paused = false; w.say("           the policy is paused no more") })
		at(w, 3*time.Minute, func() { // if that is not over by then
			if !w.alive() && w.ready == "True" {
				w.ready, w.readySince = "Unknown", w.now
				w.say("           Kubernetes loses the node")
			}
		})
	}, []api.Phase{api.Finished}, 1},
	"a node is cut off, and what somebody asked for grows old": {func(w *world) {
		patient(w)
		w.cut, w.paused = true, true
		at(w, 20*time.Second, func() { w.wanted("1") })
		at(w, 14*time.Minute, func() { w.cut = false; w.wake(0, "node.healthy") })
		at(w, 20*time.Minute, func() { w.paused = false })
	}, []api.Phase{api.Finished}, 0},
}
