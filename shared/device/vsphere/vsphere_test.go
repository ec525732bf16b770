package vsphere_test

import (
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Harness{
		// There is no other machine: it is looked up by what it calls itself.
		Faults: []string{
			devicetest.Hang, devicetest.Refuse, devicetest.ConflictWhenOff, devicetest.AcceptAndIgnore,
			devicetest.WrongPassword, devicetest.Unreachable, devicetest.ResetConnection, devicetest.Mute,
			devicetest.Slow, devicetest.Early, devicetest.Lie,
		},
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
