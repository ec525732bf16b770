package e2e

import (
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// awaited waits until a fence has used up its tries, and its device is read on.
func (w *world) awaited(node string) (f *api.NodeFence) {
	w.t.Helper()
	w.until("the fence of "+node+" to wait for its device", func() (bool, error) {
		var err error
		f, err = w.Fences.Fence(w.ctx, node)
		return err == nil && f != nil && f.Status.Awaited != nil, nil
	})
	return f
}

// TestABMCGoesDarkAfterTheOff: it takes the Off, and answers no more until all tries are
// used up. Another node's fence gets the only slot meanwhile. When the BMC answers
// again, the work is released and the machine switched on, without a person (S25).
func TestABMCGoesDarkAfterTheOff(t *testing.T) {
	w := newWorld(t, 5, `
timeouts: {deviceCall: 4s, powerOff: 10s, healthyFor: 1s}
retries: {interval: 1s, perStep: 2, flow: 0}
limits: {maxUnhealthy: "50%", maxConcurrent: 1}
`)
	w.start(nil)
	victim := w.database(1)
	must(t, w.Lab.Fault(victim, "slow=6s"))
	w.node(victim, "crash")
	w.until("the power-off to be accepted", func() (bool, error) {
		words, err := w.Lab.Words(victim)
		return words == "off", err
	})
	must(t, w.Lab.Fault(victim, "hang"))
	f := w.awaited(victim)
	if f.Status.Release.StartedAt != nil {
		t.Errorf("released although it was not seen off\n%s", rig.Story(f))
	}
	other := "node-0"
	if other == victim {
		other = "node-1"
	}
	w.node(other, "crash")
	w.ended(other, api.Recovered)
	if f = w.awaited(victim); f.Status.Power.OffCalls != 1 {
		t.Errorf("%d Offs\n%s", f.Status.Power.OffCalls, rig.Story(f))
	}
	must(t, w.Lab.Fault(victim, "none"))
	w.moved("db-0", victim)
	w.ended(victim, api.Recovered)
	w.words(victim, "off on")
	w.oneWriter()
	w.unmarked(victim)
}

// TestABMCSaysOffTooSoon: a node is cut off and writes on, and its BMC says off up to its
// lead before the machine is. Its work starts elsewhere only then (S5).
func TestABMCSaysOffTooSoon(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.start(nil)
	victim := w.database(1)
	must(t, w.Lab.Fault(victim, "early=4500ms"))
	w.node(victim, "partition")
	w.moved("db-0", victim)
	w.oneWriter()
	w.node(victim, "heal")
	w.phase(victim, api.Finished)
	w.words(victim, "off on")
	w.oneWriter()
}
