package story

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// maintenance gives the policy a window from 11:00 on, which ends after so long of
// the story.
func maintenance(w *world, ends time.Duration) {
	w.shutUntil = start.Add(ends)
	w.windows = []policy.Windows{{Policy: "default", Windows: []api.PauseWindowRule{{
		Start: "11:00", Duration: *api.DurationOf(time.Hour + ends), Reason: "new firmware",
	}}}}
}

// isShut: a window is open, by which nothing new may begin.
func (w *world) isShut() bool { return w.now.Before(w.shutUntil) }

// windows are the stories of pause windows.
var windows = map[string]incident{
	"a node crashes in a pause window": {func(w *world) { // S27
		maintenance(w, 3*time.Minute)
		w.crashed = true
	}, []api.Phase{api.Finished}, 1},
	"a node is cut off in a pause window and heals": {func(w *world) { // S27
		maintenance(w, 3*time.Minute)
		w.cut = true
		at(w, 40*time.Second, func() { w.cut = false; w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
	"a pause window begins while the power is cut": {func(w *world) { // S25
		w.crashed = true
		at(w, 5*time.Second, func() { maintenance(w, 10*time.Minute); w.say("           a pause window begins") })
	}, []api.Phase{api.Finished}, 1},
	"a pause window begins before the power is cut": {func(w *world) { // S25
		w.crashed, w.bmc = true, "dead"
		at(w, 3*time.Second, func() { maintenance(w, 2*time.Minute); w.say("           a pause window begins") })
		at(w, time.Minute, func() { w.bmc = "" })
	}, []api.Phase{api.Finished}, 1},
}
