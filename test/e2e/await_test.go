package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// awaited waits until a fence has used up its tries, and its device is still read.
func (w *world) awaited(node string) (f *api.NodeFence) {
	w.t.Helper()
	w.until("the fence of "+node+" to wait for its device", func() (bool, error) {
		var err error
		f, err = w.Fences.Fence(w.ctx, node)
		return err == nil && f != nil && f.Status.Awaited != nil, nil
	})
	return f
}

// TestABMCGoesDarkAfterTheOff: the BMC accepts the Off, and then does not answer until all
// tries are used up. Another node's fence gets the only slot meanwhile. When the BMC
// answers again, the work is released and the machine switched on, without a person (S25).
func TestABMCGoesDarkAfterTheOff(t *testing.T) {
	w := newWorld(t, 5, `
power: {offTimeout: 10s, attempts: 2, retryInterval: 1s, restarts: 0}
recovery: {readyDuration: 1s}
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

// TestABMCSaysOffTooSoon: two nodes are cut off and write on, and their BMCs say off up to
// their lead before the machines are off: one lead is the driver's, and one is set in the
// method. The second is long enough to catch a fence that waits for less. Their work starts
// elsewhere only after that (S5).
func TestABMCSaysOffTooSoon(t *testing.T) {
	w := newWorld(t, 5, quick)
	w.start(nil)
	victims := []string{w.database(2), w.Pod(w.ctx, "db-1").Spec.NodeName}
	if victims[0] == victims[1] {
		t.Fatalf("both pods are on %s", victims[0])
	}
	w.settles(victims[1], "9s")
	must(t, w.Lab.Fault(victims[0], "early=4500ms"))
	must(t, w.Lab.Fault(victims[1], "early=8500ms"))
	w.allAtOnce(victims, "partition")
	for i, n := range victims {
		w.moved(fmt.Sprintf("db-%d", i), n)
	}
	w.oneWriter()
	w.allAtOnce(victims, "heal")
	for _, n := range victims {
		w.phase(n, api.Finished)
		w.words(n, "off on")
	}
	w.oneWriter()
}

// settles sets the lead of a node's BMC in its method.
func (w *world) settles(node, lead string) {
	w.t.Helper()
	maps := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	own, err := maps.Get(w.ctx, "fence-config-node-"+node, metav1.GetOptions{})
	must(w.t, err)
	own.Data["fence-method-bmc-off"] += "settle=" + lead + "\n"
	_, err = maps.Update(w.ctx, own, metav1.UpdateOptions{})
	must(w.t, err)
}
