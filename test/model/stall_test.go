package model

import (
	"strings"
	"testing"
	"time"
)

// A gate stands still between its decision and its save for longer than a decision is valid; by
// then its reservation is gone and another node has the room. What it saves in the end must not
// get a slot by itself.
func TestGateThatStoodStill(t *testing.T) {
	sc := crowd()
	sc.pauses, sc.pause = 1, 65*time.Second
	x := newExplorer(sc)
	defer x.code.close()
	s := x.begin()
	do := func(id string) bool {
		for _, o := range x.options(s) {
			if strings.HasPrefix(o.id, id) {
				o.do(s)
				return true
			}
		}
		return false
	}
	late := "gate on event node.unhealthy of a"
	do("event node.unhealthy of a")
	for {
		if r := s.procs[0].at.asks; r.path == fences+"a/status" && strings.Contains(string(r.body), `"phase":"Isolating"`) {
			break
		}
		do(late)
	}
	do("stop")
	for do("event node.unhealthy of b") || do("gate on event node.unhealthy of b") {
	}
	do(late) // saved at last
	for do("event node.unhealthy of c") || do("gate on event node.unhealthy of c") {
	}
	for s.watch.broken == "" && (do("event fence.isolating of a") || do("isolate") || do("event fence.pending of a") || do("gate")) {
	}
	if s.watch.broken != "" {
		t.Errorf("broken: %s\n\tbecause %s", s.watch.broken, s.watch.fault)
	}
}
