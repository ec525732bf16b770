package specs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// JoinedName is the policy of fences that requests come to join.
const JoinedName = "joined"

// Joined is of a fence that requests come to join.
func Joined() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Policy.Name, s.Decision.Settings.Power.Restarts = JoinedName, 0
	s.Decision.Settings.UnhealthyConditions[0].Duration = metav1.Duration{Duration: EarlyFor}
	return s
}

// JoinedFabric is of a machine that is cut off from its storage first.
func JoinedFabric() fencetest.Given {
	s := Fabric()
	s.Decision.Policy.Name, s.Decision.Settings.Power.Restarts = JoinedName, 0
	s.Decision.Settings.UnhealthyConditions[0].Duration = metav1.Duration{Duration: EarlyFor}
	return s
}

// CountedName is the policy of fences whose tries and cuts are counted.
const CountedName = "counted"

// Counted allows two cuts a day, switches on again after the first of them only,
// tries three times, and passes through the flow three times.
func Counted() fencetest.Given {
	s := fencetest.Spec()
	s.FenceNumber = 12
	s.Decision.Policy.Name, s.Decision.Settings.PerNode.CutsPerDay = CountedName, 2
	s.Decision.Settings.Power.Attempts, s.Decision.Settings.Power.Restarts = 3, 2
	s.Decision.Limits = []api.ScopedLimits{{Policy: CountedName}}
	return s
}
