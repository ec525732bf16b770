package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/infra/local"
	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device/agent/agenttest"
	"github.com/nodefence/nodefence/test/golden"
	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/rig/port"
)

// pduObjects are a template and an object as users write them for an APC rack PDU: outlet 1 feeds the
// first node, and outlet 2 the second one.
const pduObjects = `
apiVersion: fence-agents-remediation.medik8s.io/v1alpha1
kind: FenceAgentsRemediationTemplate
metadata: {name: rack-pdu, namespace: nodefence-system}
spec: {template: {spec: SPEC}}
---
apiVersion: fence-agents-remediation.medik8s.io/v1alpha1
kind: FenceAgentsRemediation
metadata: {name: NODE, namespace: nodefence-system, annotations: {remediation.medik8s.io/template-name: rack-pdu}}
spec: SPEC
`

const pduSpec = `{agent: fence_apc_snmp, retrycount: 5, retryinterval: 1s, timeout: 60s, remediationStrategy: %s, sharedSecretName: rack-pdu,
  sharedparameters: {"--ip": 127.0.0.1, "--ipport": "%d", "--snmp-version": 2c, "--action": reboot},
  nodeparameters: {"--plug": {%s: "1", %s: "2"}}}`

// TestARealAgentSwitchesWhatAnObjectNames: Debian's fence_apc_snmp, on Debian's snmpd, cuts the outlet of
// a machine that is cut off and writes on, for a template and an object as users write them, with both
// strategies. Its work starts elsewhere only after the outlet is off (S1, S5). The outlets themselves
// are a script of ours, unverified.
func TestARealAgentSwitchesWhatAnObjectNames(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{far.ResourceDeletion, far.OutOfServiceTaint} {
		t.Run(strategy, func(t *testing.T) {
			agenttest.NeedPDU(t)
			w := newWorld(t, 3, onlyAsked)
			w.remediations()
			node := w.database(1)
			other := map[string]string{"node-0": "node-1", "node-1": "node-2", "node-2": "node-0"}[node]
			p := w.rackPDU(node, other)
			before := w.machine(node)
			w.start(func(o *local.Options) { adopting(o); o.Settings.AgentsDir, o.CheckEvery = "/usr/sbin", 5*time.Second })
			spec := fmt.Sprintf(pduSpec, strategy, p.port, node, other)
			template, object, _ := strings.Cut(strings.NewReplacer("SPEC", spec, "NODE", node).Replace(pduObjects), "---\n")
			must(t, w.Apply(w.ctx, template))
			w.until("the template's outlets to be read", func() (bool, error) {
				ft, err := w.Fences.Target(w.ctx, node)
				return ft != nil && meta.IsStatusConditionTrue(ft.Status.Conditions, "Fenceable"), err
			})
			w.node(node, "partition")
			w.unready(node)
			must(t, w.Apply(w.ctx, object)) // as NodeHealthCheck does now
			o := w.farOf(node)
			stood := w.followed(o)
			golden.File(t, "testdata/far/conditions.txt", strings.Join(stood, "\n")+"\n")
			w.moved("db-0", node)
			w.oneWriter()
			w.until("the machine to be told to start", func() (bool, error) { return p.told() == "1=2\n1=1\n", nil })
			w.node(node, "heal")
			f := w.ended(node, api.Recovered)
			if a := f.Status.Decision.Devices[0].Adopted; a == nil || a.Kind != far.Kind || a.UID != o.UID {
				t.Errorf("its device is of %+v", a)
			}
			if is := f.Status.Decision.Settings.Release.Strategy; string(is) != strategy {
				t.Errorf("released by %s, want %s", is, strategy)
			}
			if is := w.machine(node); is.Power != "on" || is.BootID == before.BootID {
				t.Errorf("the machine is %s, and its boot ID was %s and is %s: it was not switched", is.Power, before.BootID, is.BootID)
			}
			w.words(node, "") // its BMC is nobody's
			w.farGone(o)
			w.unmarked(node)
			w.unmarked(other)
			if told := p.told(); told != "1=2\n1=1\n" {
				t.Errorf("the PDU was told %q", told)
			}
		})
	}
}

// rack is a PDU whose outlets feed machines of a lab.
type rack struct {
	t    *testing.T
	dir  string
	port int
}

// rackPDU feeds two machines by a PDU's outlets, which nothing but FenceAgentsRemediations may name.
func (w *world) rackPDU(nodes ...string) *rack {
	w.t.Helper()
	lab, err := rig.Bin("nodefence-lab")
	must(w.t, err)
	udp := port.UDP(w.t)
	p := &rack{w.t, agenttest.PDU(w.t, udp), udp}
	wire := "case $1=$2 in\n"
	for i, node := range nodes {
		w.unbound(node)
		wire += fmt.Sprintf("%[1]d=1) exec %[2]q node %[3]s power-on --name %[4]s ;;\n%[1]d=2) exec %[2]q node %[3]s power-loss --name %[4]s ;;\n", i+1, lab, node, w.Lab.Name)
		must(w.t, os.WriteFile(filepath.Join(p.dir, fmt.Sprint(i+1)), []byte("1\n"), 0o600))
	}
	must(w.t, os.WriteFile(filepath.Join(p.dir, "wire"), []byte(wire+"esac\nexit 1\n"), 0o600))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "rack-pdu"}, StringData: map[string]string{"--community": "hunter-2"}}
	_, err = w.Kube.CoreV1().Secrets("nodefence-system").Create(w.ctx, secret, metav1.CreateOptions{})
	must(w.t, err)
	return p
}

// told is what the outlets were told, one command a line: 1 is on, and 2 is off.
func (p *rack) told() string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "told"))
	must(p.t, err)
	return string(text)
}

func (w *world) machine(node string) rig.Machine {
	w.t.Helper()
	all, err := w.Lab.Machines()
	must(w.t, err)
	return all[node]
}
