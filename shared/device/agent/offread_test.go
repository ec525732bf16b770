//go:build linux

package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ipmi"
)

// BenchmarkOffRead measures what a process for each call costs, with an agent that has nothing to
// do.
func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "agent", harness()) }

// BenchmarkIPMIOffRead measures one BMC with two drivers in turn, an agent and our own.
func BenchmarkIPMIOffRead(b *testing.B) {
	bmc := newBMC(b)
	d := bmc.open("hunter-2-hunter")
	own, err := ipmi.Kind().Open(map[string]string{
		"ip": "127.0.0.1", "ipport": strconv.Itoa(bmc.port), "username": "fence", "password": "hunter-2-hunter", "cipher": "3",
	})
	if err != nil {
		b.Fatal(err)
	}
	says(b, d, device.On)
	power := filepath.Join(bmc.dir, "power")
	devicetest.OffReadBeside(b, "agent/fence_ipmilan", standing(b, d, power), "ipmi/fence_ipmilan", standing(b, own, power))
}

func BenchmarkPDUOffRead(b *testing.B) {
	p := newPDU(b)
	d := p.open("1", "hunter-2")
	says(b, d, device.On)
	devicetest.OffRead(b, "agent/fence_apc_snmp", standing(b, d, filepath.Join(p.dir, "1")))
}

// standing is an existing machine, whose power a script keeps in a file.
func standing(t testing.TB, d device.Driver, file string) devicetest.Harness {
	return devicetest.Harness{New: func(testing.TB, string) devicetest.Machine {
		return devicetest.Machine{Driver: d, On: func() bool {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			return string(text) == "1\n"
		}}
	}}
}
