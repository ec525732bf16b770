package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// slowOff takes 25 s to switch a machine off.
const slowOff = `#!/bin/sh
[ "$1" != -o ] || exec /usr/sbin/fence_ipmilan "$@"
told=$(cat)
case $told in *action=off*) sleep 25 ;; esac
printf '%s\n' "$told" | /usr/sbin/fence_ipmilan "$@"
`

// TestASlowAgent takes longer to switch off than any call may take unless nodefence is set otherwise:
// where it is, the agent is used, and told to switch off once.
func TestASlowAgent(t *testing.T) {
	if _, err := exec.LookPath("/usr/sbin/fence_ipmilan"); err != nil {
		t.Skip("fence_ipmilan is missing: apt-get install fence-agents")
	}
	w := newWorld(t, 3, patient)
	machines, err := w.Lab.Machines()
	must(t, err)
	victim := w.database(1)
	w.agent("fence-ipmilanplus", machines[victim])
	agents := t.TempDir()
	must(t, os.WriteFile(filepath.Join(agents, "fence_ipmilanplus"), []byte(slowOff), 0o700))
	w.start(func(o *local.Options) {
		o.Settings.AgentsDir, o.Settings.DeviceCall, o.Settings.Invocation = agents, functions.CallTimeout(time.Minute), 100*time.Second
	})
	w.node(victim, "crash")
	w.moved("db-0", victim)
	f := w.phase(victim, api.Finished)
	w.words(victim, "off on")
	w.oneWriter()
	w.unmarked(victim)
	if p := f.Status.Proof; p == nil || f.Status.Decision.Device(p.Device).Driver != "fence_ipmilanplus" || f.Status.Restarts != 0 {
		t.Errorf("proof %+v, after %d restarts", p, f.Status.Restarts)
	}
	if got := f.Status.Decision.CallLimit(); got != time.Minute {
		t.Errorf("the record's calls take %s", got)
	}
}

// agent configures that an agent beside nodefence calls a machine's BMC.
func (w *world) agent(name string, m rig.Machine) {
	w.t.Helper()
	host, port, err := net.SplitHostPort(m.BMC)
	must(w.t, err)
	maps := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	cm, err := maps.Get(w.ctx, "fence-config-node-"+m.Name, metav1.GetOptions{})
	must(w.t, err)
	cm.Data = map[string]string{
		"config.properties": "node_name=" + m.Name + "\nisolation=mark-unschedulable\npower_management=bmc\nrecovery=mark-schedulable\n",
		"fence-method-bmc":  fmt.Sprintf("agent_name=%s\nip=%s\nipport=%s\nlanplus=1\ncipher=3\nusername=%s\nsecret=bmc-%s\n", name, host, port, m.Username, m.Name),
	}
	_, err = maps.Update(w.ctx, cm, metav1.UpdateOptions{})
	must(w.t, err)
}
