package story

import (
	"fmt"
	"slices"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// What may happen in any phase is told once for each save of a story: right after it.

// eachSave tells a story as often as it saves, with something that happens then.
func eachSave(i incident, meet func(*world), judge func(how string, w *world)) (phases []api.Phase) {
	plain := tell(i, twist{})
	for n := 1; n <= plain.saves; n++ {
		var met api.Phase
		w := tell(i, twist{meet: func(w *world, save int) {
			if save == n {
				met = w.record.Status.Phase
				meet(w)
			}
		}})
		if !slices.Contains(phases, met) {
			phases = append(phases, met)
		}
		judge(fmt.Sprintf("after save %d, in %s", n, met), w)
	}
	return phases
}

var everyPhase = []api.Phase{api.Isolating, api.Fencing, api.Releasing, api.PoweringOn, api.Recovering, api.Finished}

// TestANodeIsReplacedInEachPhase: the Node object is deleted and made anew, with
// another UID. Nothing is done in its name, the old record ends, and a machine that
// we cut is switched on again (S6).
func TestANodeIsReplacedInEachPhase(t *testing.T) {
	seen := eachSave(incidents["a node crashes"], func(w *world) {
		w.uid, w.taint, w.cordon, w.oos = "another", false, false, false
		w.say("           the Node object is another one")
	}, func(how string, w *world) {
		if w.record.Status.Phase != api.Finished || len(w.faults) > 0 || w.ons != w.offs || w.finalizer || w.taint || w.cordon || w.oos {
			t.Errorf("%s: ended in %s, %d off, %d on, %v\n%s", how, w.record.Status.Phase, w.offs, w.ons, w.faults, w.text.String())
		}
	})
	covers(t, seen, everyPhase)
}

// TestEverythingIsPausedInEachPhase: before the first Off nothing is cut any more,
// and the node that comes back is given back; after it the flow runs to its end
// (S25, S27).
func TestEverythingIsPausedInEachPhase(t *testing.T) {
	heals := incident{begin: func(w *world) {
		w.crashed = true
		at(w, 5*time.Minute, func() {
			if w.crashed {
				w.crashed, w.on, w.boot = false, true, w.boot+1
				w.say("           a person has reset it")
				w.wake(0, "node.healthy")
			}
		})
	}}
	seen := eachSave(heals, func(w *world) {
		w.paused = true
		w.say("           everything is paused")
	}, func(how string, w *world) {
		if w.record.Status.Phase != api.Finished || len(w.faults) > 0 || w.ons != w.offs || w.finalizer || w.taint || w.cordon || w.oos {
			t.Errorf("%s: ended in %s, %d off, %d on, %v\n%s", how, w.record.Status.Phase, w.offs, w.ons, w.faults, w.text.String())
		}
	})
	covers(t, seen, everyPhase)
}

func covers(t *testing.T, seen, want []api.Phase) {
	t.Helper()
	for _, p := range want {
		if !slices.Contains(seen, p) {
			t.Errorf("it never happened in %s", p)
		}
	}
}
