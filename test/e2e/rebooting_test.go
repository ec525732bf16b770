package e2e

import (
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAPlannedRebootIsWaitedFor: a node that kured or OpenShift reboots gets its time to come back, and its machine no
// command. A node whose mark is gone waits for nothing.
func TestAPlannedRebootIsWaitedFor(t *testing.T) {
	w := newWorld(t, 4, quick)
	w.start(nil)
	back := w.database(1)
	w.patch(back, `{"metadata":{"annotations":{"weave.works/kured-reboot-in-progress":"2026-05-01T12:00:00Z"}},"spec":{"unschedulable":true}}`)
	w.node(back, "power-loss")
	w.held(back, api.RebootUnderWay)
	w.node(back, "power-on")
	w.ended(back, api.HealedBeforeFence)
	w.words(back, "")

	dies := w.besides(4, back)
	w.patch(dies, `{"metadata":{"annotations":{"machineconfiguration.openshift.io/state":"Rebooting"}}}`)
	w.node(dies, "crash")
	w.held(dies, api.RebootUnderWay)
	w.words(dies, "")
	w.patch(dies, `{"metadata":{"annotations":{"machineconfiguration.openshift.io/state":"Degraded"}}}`)
	w.ended(dies, api.Recovered)
	w.words(dies, "off on")
}
