//go:build linux

package agent

import (
	"testing"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent/agenttest"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

const (
	password     = agenttest.Password
	changed      = agenttest.Changed
	script       = agenttest.Script
	oursMetadata = agenttest.Metadata
)

// machine is a machine with our agent.
type machine struct {
	*agenttest.Machine
	device.Driver
}

func newMachine(t testing.TB, fault string) *machine {
	t.Helper()
	m := agenttest.New(t, fault)
	k, err := Kind("fence-ours", m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.Open(agenttest.Params())
	if err != nil {
		t.Fatal(err)
	}
	return &machine{m, d}
}

func TestConformance(t *testing.T) { devicetest.Run(t, harness()) }

func harness() devicetest.Harness {
	return devicetest.Harness{
		Against: "agent",
		Secrets: []string{password, changed, "hunter"},
		New: func(t testing.TB, fault string) devicetest.Machine {
			m := newMachine(t, fault)
			return devicetest.Machine{Driver: m.Driver, On: m.Machine.On, Commands: m.Told, SetFault: m.SetFault, Settle: m.Settle}
		},
	}
}
