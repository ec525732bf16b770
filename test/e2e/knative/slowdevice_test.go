package knative

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/test/rig"
)

// heldOff is an agent that switches a machine off when it may: it makes the file DIR/told, and waits
// for DIR/go.
const heldOff = `#!/bin/sh
[ "$1" != -o ] || exec /usr/sbin/fence_ipmilan "$@"
told=$(cat)
case $told in *action=off*) : >DIR/told; until [ -e DIR/go ]; do sleep 0.1; done ;; esac
printf '%s\n' "$told" | /usr/sbin/fence_ipmilan "$@"
`

// TestADeviceSlowerThanItsCallers takes longer to switch off than the source waits for the broker, which
// answers when the function has answered. All hops hang up; the call goes on, the device is told once, and
// what came of it is saved.
func TestADeviceSlowerThanItsCallers(t *testing.T) { // S7, S8
	if _, err := exec.LookPath("/usr/sbin/fence_ipmilan"); err != nil {
		t.Skip("fence_ipmilan is missing: apt-get install fence-agents")
	}
	w := newWorld(t)
	agents, dir := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(agents, "fence_ipmilanplus"), []byte(strings.ReplaceAll(heldOff, "DIR", dir)), 0o700))
	w.env = []string{"NODEFENCE_AGENTS_DIR=" + agents}
	w.bindAgent("fence_ipmilanplus")
	w.deploy()
	c := w.crash(w.database())
	w.until("the device to be told to switch off", func() (bool, error) {
		_, err := os.Stat(filepath.Join(dir, "told"))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
	failures := func() float64 { return w.metric("nodefence-source", "nodefence_source_send_failures_total") }
	before := failures()
	w.until("the source to hang up", func() (bool, error) { return failures() > before, nil })
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	f := c.end()
	if n := f.Status.Power.OffCalls; n != 1 || f.Status.Restarts != 0 {
		t.Errorf("%d calls to switch off, and %d restarts\n%s", n, f.Status.Restarts, rig.Story(f))
	}
}

// bindAgent has an agent beside the functions call each machine's BMC, from before they run.
func (w *world) bindAgent(name string) {
	w.t.Helper()
	must(w.t, w.Install(w.ctx))
	machines, err := w.Lab.Machines()
	must(w.t, err)
	must(w.t, w.Bind(w.ctx, machines))
	maps := w.Kube.CoreV1().ConfigMaps(system)
	for _, m := range machines {
		host, port, err := net.SplitHostPort(m.BMC)
		must(w.t, err)
		cm, err := maps.Get(w.ctx, "fence-config-node-"+m.Name, metav1.GetOptions{})
		must(w.t, err)
		cm.Data = map[string]string{
			"config.properties": "node_name=" + m.Name + "\nisolation=mark-unschedulable\npower_management=bmc\nrecovery=mark-schedulable\n",
			"fence-method-bmc":  fmt.Sprintf("agent_name=%s\nip=%s\nipport=%s\nlanplus=1\ncipher=3\nusername=%s\nsecret=bmc-%s\n", name, host, port, m.Username, m.Name),
		}
		_, err = maps.Update(w.ctx, cm, metav1.UpdateOptions{})
		must(w.t, err)
	}
}
