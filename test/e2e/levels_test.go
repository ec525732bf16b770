package e2e

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// twoLevels allows few tries for each level. A call that a busy machine ends early would be a try.
var twoLevels = strings.Replace(quick, "offTimeout: 1m", "offTimeout: 4s, attempts: 2, maxLevels: 2", 1)

// TestOutletsAndLevels: a machine with two supplies is off when both outlets are off. If a
// BMC refuses or does nothing, the outlets are tried, and every level that was used is
// undone. If both outlets are off, the machine's BMC does not answer.
func TestOutletsAndLevels(t *testing.T) {
	w := newWorld(t, 8, twoLevels)
	machines, err := w.Lab.Machines()
	must(t, err)
	w.wire(machines["node-1"], "a b", "")
	w.wire(machines["node-2"], "bmc", "a b")
	w.wire(machines["node-3"], "bmc", "a b")
	must(t, w.Lab.Fault("node-2", "refuse"))
	must(t, w.Lab.Fault("node-3", "accept-and-ignore"))
	w.database(8)
	w.start(unhurried)

	var wg sync.WaitGroup
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		wg.Go(func() { w.node(node, "crash") })
	}
	wg.Wait()
	for node, told := range map[string]string{"node-1": "", "node-2": "", "node-3": "off off"} {
		f := w.phase(node, api.Finished)
		w.words(node, told)
		w.words(node+".a", "off on")
		w.words(node+".b", "off on")
		if p := f.Status.Proof; p != nil && f.Status.Decision.Device(p.Device).Driver != "set" {
			t.Errorf("%s was proven off by %s", node, p.Device)
		}
		w.unmarked(node)
	}
	w.oneWriter()
}

// wire writes the levels of a machine: methods bmc, a and b.
func (w *world) wire(m rig.Machine, first, second string) {
	w.t.Helper()
	text := fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: fence-config-node-%s, namespace: nodefence-system}
data:
  config.properties: |
    node_name=%s
    isolation=mark-unschedulable
    power_management=%s
    recovery=mark-schedulable
`, m.Name, m.Name, first)
	if second != "" {
		text = strings.Replace(text, "    recovery", "    power_management_2="+second+"\n    recovery", 1)
	}
	for name, addr := range map[string]string{"bmc": m.BMC, "a": m.Outlets["a"], "b": m.Outlets["b"]} {
		host, port, err := net.SplitHostPort(addr)
		must(w.t, err)
		text += fmt.Sprintf("  fence-method-%s: |\n    agent_name=fence-ipmilan\n    ip=%s\n    ipport=%s\n    lanplus=1\n    username=%s\n    secret=bmc-%s\n", name, host, port, m.Username, m.Name)
	}
	must(w.t, w.Apply(w.ctx, text))
}
