package specs

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// Fabric is of a node that is cut off from its network before its power is.
func Fabric() fencetest.Given {
	s := fencetest.Spec()
	fencetest.Cutting(&s.Decision, api.Binding{Driver: "switch", Address: "7", Role: api.RoleNetwork, Must: true, EffectDelay: metav1.Duration{Duration: 3 * time.Second}})
	return s
}

// EarlyFabric is of such a node whose fence opens for a still Lease alone.
func EarlyFabric() fencetest.Given {
	s, cut := Early(), Fabric()
	fencetest.Cutting(&s.Decision, cut.Decision.Isolation()...)
	return s
}

// Cut is of a node whose machine nothing switches.
func Cut() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Devices = nil
	fencetest.Cutting(&s.Decision, api.Binding{
		Driver: "san", Address: "7", Role: api.RoleStorage, Must: true, EffectDelay: metav1.Duration{Duration: 3 * time.Second},
		Covers: &api.Coverage{CSIDriverNames: []string{"d"}},
	})
	return s
}
