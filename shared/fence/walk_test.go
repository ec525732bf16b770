package fence_test

import (
	"fmt"
	"runtime/debug"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
)

func init() { debug.SetGCPercent(800) } // a walk makes much garbage, and keeps little

func TestWalk(t *testing.T) {
	r := walk.Whole(fence.Decide)
	fmt.Printf("walk: %d states, %d decisions, %d kinds of transition\n", r.States, r.Decisions, len(r.Transitions))
	for promise, where := range r.Broken {
		t.Errorf("%s: %s", promise, where)
	}
	for _, p := range []api.Phase{api.Isolating, api.Fencing, api.Releasing, api.PoweringOn, api.Restoring, api.Recovering, api.Fenced, api.Failed} {
		if !r.Visited(p) {
			t.Errorf("the walk never came to %s", p)
		}
	}
	checkCoverage(t, &r)
	checkDiagram(t, &r)
}

// walked tells what a walk has seen, and fails for a promise that it broke and for an edge that it
// never came to.
func walked(t *testing.T, name string, r *walk.Result, edges map[string]string) {
	t.Helper()
	fmt.Printf("%s: %d states, %d decisions, %d kinds of transition\n", name, r.States, r.Decisions, len(r.Transitions))
	for promise, where := range r.Broken {
		t.Errorf("%s: %s", promise, where)
	}
	for what, edge := range edges {
		if !r.Transitions[edge] {
			t.Errorf("the %s never came to %s (%s)", name, what, edge)
		}
	}
}

func TestSecondWalk(t *testing.T) {
	t.Parallel()
	r := walk.Run(fence.Decide, walk.Options{From: walk.Begin(specs.Counted()), Live: true})
	walked(t, "second walk", &r, map[string]string{
		"tries used up before the power was cut":           "Fencing --> Failed: CallLost",
		"tries used up by a machine that stays on":         "Fencing --> Failed: PowerOffNotSeen",
		"tries used up, and the device waited for":         "Pending --> Fencing: WaitingForDevice",
		"a flow that begins again at the gate":             "Fencing --> Pending: FlowRestarted",
		"a flow that begins again after a boot that fails": "Recovering --> Pending: FlowRestarted",
		"a boot that failed for the last time":             "Recovering --> Failed: BootTimedOut",
		"a machine left off for its number of cuts":        "Releasing --> Fenced: StaysOff",
		"that machine wanted back":                         "Fenced --> PoweringOn: RetryAsked",
		"a fence that opens again and may not cut":         " --> Pending: NodeFencedTooOften",
		"a fence that opens again and may":                 " --> Isolating: Admitted",
	})
}

// TestLongCallsWalk takes one look in so many: the whole of this walk is NODEFENCE_WHOLE_WALK.
func TestLongCallsWalk(t *testing.T) {
	t.Parallel()
	o := walk.Options{From: walk.Begin(specs.LongCalls()), Live: true, Few: 7, Most: 6000}
	if wantsWhole() {
		o.Few, o.Most = 0, 0
	}
	r := walk.Run(fence.Decide, o)
	walked(t, "walk of long calls", &r, map[string]string{
		"an old yes":                "Fencing --> Pending: DecisionExpired",
		"a machine seen off":        "Fencing --> Releasing: SeenOff",
		"an old proof":              "Releasing --> Fencing: ProofExpired",
		"a node that is back again": "PoweringOn --> Recovering: SeenOn",
	})
}

func TestJoinsWalk(t *testing.T) {
	t.Parallel()
	r := walk.Run(fence.Decide, walk.Options{From: walk.Begin(specs.Joined(), specs.JoinedFabric()), Live: true})
	walked(t, "walk of requests that join", &r, nil)
}
