package binding

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestProposalWithRealAgents: the proposal's shapes of configuration bind nodes
// by the agents that a distribution installs.
func TestProposalWithRealAgents(t *testing.T) {
	const dir = "/usr/sbin"
	for _, agent := range []string{"fence_eaton_snmp", "fence_brocade", "fence_gce"} {
		if _, err := os.Stat(filepath.Join(dir, agent)); err != nil {
			t.Skipf("%s is not installed (Debian: fence-agents)", agent)
		}
	}
	text, err := os.ReadFile("../config/testdata/proposal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list corev1.ConfigMapList
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"metal-1": {"fence_eaton_snmp 192.0.2.4#1", ""},
		"metal-2": {"fence_eaton_snmp 192.0.2.4#2", ""},
		"metal-3": {"", "ConfigMap fence-config-metal-3, key config.properties, line 3: nothing in power_management can prove the machine off: it has no method that switches a device off"},
		"gce-1":   {"gce gce:example/europe-west1-b/gce-1", ""},
		"metal-5": {"fence_eaton_snmp 192.0.2.4#5", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := node(name, "1", "")
			n.Labels = map[string]string{"type": "compute"}
			b := stored(t, list.Items, []corev1.Node{n})
			b.Drivers, b.AgentsDir = Drivers, dir
			bound, err := binding(b.Bind(t.Context(), &n))
			got := [2]string{}
			if bound != nil {
				got[0] = bound.Driver + " " + bound.Address
			}
			if err != nil {
				got[1] = err.Error()
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
