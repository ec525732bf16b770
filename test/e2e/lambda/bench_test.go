//go:build bench

package lambda

import (
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestBenchChain prints how long fences take on the Lambda Runtime API: make bench.
func TestBenchChain(t *testing.T) {
	w := newWorld(t, 9)
	// One node may be the victim more often than a day allows.
	must(t, w.Apply(w.ctx, rig.Policy("default", strings.Replace(quick, "limits: {", "limits: {perNode: {cutsPerDay: 100}, ", 1))))
	cloud := w.cloud()
	w.deploy(1)
	w.source()
	w.enrolled(cloud)
	node := w.database()
	var legs rig.Legs
	for i := range 8 {
		w.node(node, "crash")
		next, err := w.PodRunning(w.ctx, "db-0", node)
		must(t, err)
		f, err := w.Phase(w.ctx, node, api.Finished)
		must(t, err)
		legs.Add(f)
		t.Logf("fence %d of 8 has ended", i+1)
		node = next
	}
	t.Logf("chain on Lambda: %s", &legs)
}
