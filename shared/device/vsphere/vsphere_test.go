package vsphere_test

import (
	"net"
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/test/rig/port"
)

func TestConformance(t *testing.T) { devicetest.Run(t, harness()) }

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "vsphere", harness()) }

func harness() devicetest.Harness {
	return devicetest.Harness{
		Against: "vsphere",
		Secrets: []string{password, changed}, Identity: uuid,
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := serve(t)
			if fault == devicetest.Unreachable {
				_, s.port, _ = net.SplitHostPort(port.Nobody(t))
			}
			s.setFault(fault)
			return devicetest.Machine{Driver: s.dial(nil), On: s.on, Commands: s.told, SetFault: s.setFault, Settle: s.settle}
		},
	}
}
