package model

import (
	"flag"
	"testing"
	"time"

	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/power"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/random"
)

var edges = flag.Int("model.edges", random.Histories(30), "how many random schedules to go through across the edge of a reservation's validity")

// edge is the scenario of two nodes that die, room for one, invocations whose clocks lie
// two seconds apart, and pauses that end about when a reservation ends (S14).
func edge() scenario {
	s := time.Second
	return scenario{
		policy: roomForOne(api.ActionOff), nodes: 4, dead: 2, code: shipped, procs: 3,
		fine:   []string{gate.Name, isolate.Name, power.Name},
		pauses: 4, lengths: []time.Duration{s, 2 * s, 4 * s, 55 * s, 57 * s, 58 * s, 59 * s, 60 * s, 61 * s, 62 * s},
		doubles: 1, crashes: 1, apart: 2 * s, hazardIn: 8, only: budget, until: 70 * s,
	}
}

// TestTheEdgeOfAReservation: whichever gate's clock is ahead, and however late each is, there are
// never two under a limit of one. shared/fence goes through many more schedules of its part of
// this, and catches gates that are less careful.
func TestTheEdgeOfAReservation(t *testing.T) {
	first, many := *seed, 1
	if first == 0 {
		first, many = uint64(time.Now().UnixNano()), *edges
	}
	start := time.Now()
	for i := range many {
		if fails(t, edge(), first+uint64(i)) {
			return
		}
	}
	t.Logf("%d random schedules in %s; first seed %d", many, time.Since(start).Round(time.Millisecond), first)
}

func fails(t *testing.T, sc scenario, seed uint64) bool {
	t.Helper()
	x := newExplorer(sc)
	defer x.code.close()
	s, schedule := x.random(seed)
	if s.watch.broken != "" {
		t.Errorf("again with -model.seed=%d\n%s", seed, x.story(schedule))
	}
	return s.watch.broken != ""
}
