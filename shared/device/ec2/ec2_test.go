package ec2_test

import (
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Harness{
		Faults: []string{
			devicetest.Hang, devicetest.Refuse, devicetest.ConflictWhenOff, devicetest.AcceptAndIgnore,
			devicetest.WrongPassword, devicetest.Unreachable, devicetest.ResetConnection, devicetest.Mute,
			devicetest.Slow, devicetest.Early, devicetest.Lie, devicetest.Other,
		},
		Secrets:  []string{key, secret, changed},
		Identity: id,
		New: func(t *testing.T, fault string) devicetest.Machine {
			s := serve(t)
			s.setFault(t, fault)
			url := s.url
			if fault == devicetest.Unreachable {
				url = nobody(t)
			}
			return devicetest.Machine{
				Driver:   dial(t, url, nil),
				On:       s.on,
				Commands: s.told,
				SetFault: func(fault string) { s.setFault(t, fault) },
				Settle:   s.Settle,
			}
		},
	})
}
