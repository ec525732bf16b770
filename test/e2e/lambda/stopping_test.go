package lambda

import (
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
)

// TestAnInstanceThatSomebodyStopsStaysOff: somebody else is stopping it when nodefence first
// looks at it. nodefence waits for it and releases its work, and neither stops nor starts it
// (S12).
func TestAnInstanceThatSomebodyStopsStaysOff(t *testing.T) {
	w := newWorld(t, 3)
	cloud := w.cloud()
	w.deploy(1)
	w.source()
	w.enrolled(cloud)
	victim := w.database()
	cloud.Hold(true)
	cloud.Put(ec2test.Instance{ID: instance(victim), State: ec2test.Stopping, Zone: "eu-central-1a"})
	w.node(victim, "crash")
	w.until("the instance to be looked at while it is stopping", func() (bool, error) {
		return cloud.requests("DescribeInstances", victim) > 2, nil
	})
	cloud.Settle()
	w.moved(victim)
	f := w.phase(victim, api.Fenced)
	if got := cloud.switches(victim); got != "" || f.Status.Power.SwitchedByUs {
		t.Errorf("EC2 was told %q, and the cut counts as ours: %v", got, f.Status.Power.SwitchedByUs)
	}
	w.oneWriter()
}
