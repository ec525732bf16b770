package binding

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/device"
)

// TestOneInstanceOfTwoNodes of any cloud: by their enrolments alone both are refused (S11:
// the device is the node's own), and two instances are not.
func TestOneInstanceOfTwoNodes(t *testing.T) {
	clouds := map[string][2]string{
		"ec2": {"aws:///eu-west-1a/" + instance, "aws:///eu-west-1a/" + another},
		"gce": {"gce://my-project/europe-west1-b/one", "gce://my-project/europe-west1-b/two"},
		"azure": {
			"azure:///subscriptions/00112233-4455-6677-8899-aabbccddeeff/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/one",
			"azure:///subscriptions/00112233-4455-6677-8899-aabbccddeeff/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/two",
		},
	}
	asks := func(k device.Kind) bool { // for more than an enrolment says
		return slices.ContainsFunc(k.Params, func(p device.Param) bool { return p.Required && !p.Machine && p.Default == "" })
	}
	for driver, k := range Drivers {
		if ids, known := clouds[driver]; k.Cloud != nil && k.Scope == device.ScopePower && k.NoOn == "" && !asks(k) && !known {
			t.Errorf("no instance of %s is tried", driver)
		} else if !known {
			continue
		} else {
			for other, refused := range map[string]bool{ids[0]: true, ids[1]: false} {
				a, b := node("a", "1", ids[0]), node("b", "2", other)
				r := stored(t, []corev1.ConfigMap{enrol("a", "1", ids[0]), enrol("b", "2", other)}, []corev1.Node{a, b})
				r.Drivers = map[string]device.Kind{driver: k}
				bound, err := r.Bind(t.Context(), &a)
				if is := err != nil && strings.Contains(err.Error(), "node b was enrolled as the same machine as node a"); is != refused || (err == nil) == refused {
					t.Errorf("%s, the other is %s: bound %+v, %v", driver, other, bound, err)
				}
			}
		}
	}
}
