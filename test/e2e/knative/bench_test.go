//go:build bench

package knative

import (
	"testing"

	"github.com/nodefence/nodefence/test/rig"
)

// TestBenchChain prints how long fences take over Knative: make bench.
func TestBenchChain(t *testing.T) {
	w := newWorld(t)
	w.deploy()
	node := w.database()
	var legs rig.Legs
	for i := range 8 {
		legs.Add(w.crash(node).end())
		t.Logf("fence %d of 8 has ended", i+1)
		var err error
		node, err = w.PodRunning(w.ctx, "db-0", node)
		must(t, err)
	}
	t.Logf("chain over Knative: %s", &legs)
}
