package ipmi_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// bmcs are the ports of all BMCs that are installed, each with a machine that is on.
func bmcs(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{"go-ipmi": serve(t, devicetest.None).port()}
	if path, err := exec.LookPath("ipmi_sim"); err == nil {
		all["ipmi_sim"] = startSim(t, path).at
	}
	if exec.Command(python, "-c", "import pyghmi.ipmi.bmc").Run() == nil {
		all["pyghmi"] = newNursery(t).start(t).at
	}
	return all
}

// TestBesideTheAgent: the agent that clusters have used so far switches the same BMC, and
// each sees what the other has done.
func TestBesideTheAgent(t *testing.T) {
	for _, program := range []string{"fence_ipmilan", "ipmitool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("it is missing: apt-get install fence-agents ipmitool")
		}
	}
	for name, at := range bmcs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the agent waits
			d := dial(t, at, password, nil)
			fenceIPMILAN(t, at, "off")
			if r, err := d.State(t.Context()); err != nil || r.Power != device.Off {
				t.Errorf("after the agent's off: %+v, %v", r, err)
			}
			if err := d.On(t.Context()); err != nil {
				t.Error(err)
			}
			if got := fenceIPMILAN(t, at, "status"); !strings.Contains(got, "ON") {
				t.Errorf("after the driver's on the agent says %q", got)
			}
			if err := d.Off(t.Context()); err != nil {
				t.Error(err)
			}
			fenceIPMILAN(t, at, "on")
			if r, err := d.State(t.Context()); err != nil || r.Power != device.On {
				t.Errorf("after the agent's on: %+v, %v", r, err)
			}
		})
	}
}

func fenceIPMILAN(t *testing.T, at int, action string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "fence_ipmilan")
	cmd.Stdin = strings.NewReader(fmt.Sprintf("action=%s\nip=127.0.0.1\nipport=%d\nusername=%s\npassword=%s\nlanplus=1\ncipher=3\nprivlvl=operator\n", action, at, user, password))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("fence_ipmilan, %s: %v: %s", action, err, out)
	}
	return string(out)
}
