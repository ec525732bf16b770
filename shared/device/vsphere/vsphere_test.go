package vsphere_test

import (
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Harness{
		Against: "vsphere",
		Secrets: []string{password, changed}, Identity: uuid,
		New: func(t *testing.T, fault string) devicetest.Machine {
			s := serve(t)
			if fault == devicetest.Unreachable {
				s.port = nobody(t)
			}
			s.setFault(fault)
			return devicetest.Machine{Driver: s.dial(nil), On: s.on, Commands: s.told, SetFault: s.setFault, Settle: s.settle}
		},
	})
}
