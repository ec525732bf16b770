package binding

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// pduAgent tells the power of outlet 7 to whom it is told the community.
const pduAgent = `#!/bin/sh
if [ "$*" = "-o metadata" ]; then
	cat <<'END'
<resource-agent name="fence_pdu"><parameters>
<parameter name="action" required="1"><content type="string" default="reboot"/></parameter>
<parameter name="ip" required="1"><content type="string"/></parameter>
<parameter name="plug" required="1"><content type="string"/></parameter>
<parameter name="community" required="0"><content type="string"/></parameter>
<parameter name="password" required="0"><content type="string"/></parameter>
<parameter name="debug_file" required="0"><content type="string"/></parameter>
<parameter name="delay" required="0"><content type="string"/></parameter>
</parameters><actions><action name="on"/><action name="off"/><action name="status"/><action name="list"/></actions></resource-agent>
END
	exit
fi
told=$(cat)
[ "$told" = "community=hunter-2
ip=10.0.0.9
plug=7
delay=0
action=status" ] || { echo "told $told" >&2; exit 1; }
echo Status: ON
`

func pduDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fence_pdu"), []byte(pduAgent), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestBindAnAgent for which there is no driver of ours.
func TestBindAnAgent(t *testing.T) {
	dir := pduDir(t)
	const at = "ConfigMap fence-config-node-a, key fence-method-pdu, line "
	method := "agent_name=fence-pdu\naction=reboot\nip=10.0.0.9\nplug=7\nsecret=pdu\ndelay=5\n"
	for name, tc := range map[string]struct {
		dir, method string
		more        []corev1.ConfigMap
		err         string
	}{
		"as it is": {dir: dir, method: method},
		"not installed": {dir: dir, method: "agent_name=fence_other\nplug=7",
			err: at + "1: agent fence_other is not installed: there is no " + dir + "/fence_other; add it to the image of the functions (Debian: fence-agents), or set NODEFENCE_AGENTS_DIR to where it is"},
		"no agent at all": {dir: dir, method: "agent_name=pdu\nplug=7",
			err: at + `1: unknown agent "pdu"; known are ` + known()},
		"no folder of agents": {method: method, err: at + `1: unknown agent "fence-pdu"; known are ` + known()},
		"a denied parameter": {dir: dir, method: method + "debug-file=/etc/passwd",
			err: at + "7: parameter debug_file of agent fence_pdu is refused: what the agent would say then may have secrets in it"},
		"an unknown parameter": {dir: dir, method: method + "plugs=7",
			err: at + `7: unknown parameter "plugs" for driver fence_pdu; did you mean plug? known are action, agent_name, community, identity, ip, must_success, name, namespace, node_name, password, plug, secret, settle, template`},
		"the outlet of another node (S11)": {dir: dir, method: method,
			more: []corev1.ConfigMap{write("fence-config-node-b", "config.properties", "node_name=b\npower_management=pdu",
				"fence-method-pdu", "agent_name=fence_pdu\naction=off\nip=10.0.0.9\nport=07\nsecret=pdu")},
			err: "ConfigMap fence-config-node-b: node b has the same device address 10.0.0.9#7 as node a; neither of them is fenced before one is mended"},
	} {
		t.Run(name, func(t *testing.T) {
			a := node("a", "1", "")
			b := stored(t, append(tc.more, write("fence-config-node-a", "config.properties", "node_name=a\npower_management=pdu", "fence-method-pdu", tc.method)), []corev1.Node{a})
			b.AgentsDir = tc.dir
			got, err := binding(b.Bind(t.Context(), &a))
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("%v\nwant %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := &api.Binding{
				Name: "power-1", Role: api.RolePower,
				Driver: "fence_pdu", Address: "10.0.0.9#7", EffectDelay: metav1.Duration{Duration: 30 * time.Second},
				Params:     map[string]string{"ip": "10.0.0.9", "plug": "7"},
				SecretRefs: []api.SecretRef{{Parameter: "community", Kind: api.KindSecret, Name: "pdu", Key: "community"}, {Parameter: "password", Kind: api.KindSecret, Name: "pdu", Key: "password"}},
				Sources:    read("fence-config-node-a@1"),
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func known() string { return strings.Join(slices.Sorted(maps.Keys(agents)), ", ") }

// TestOpenAnAgent: a Secret has one key of those that an agent could take.
func TestOpenAnAgent(t *testing.T) {
	for name, tc := range map[string]struct {
		secret map[string][]byte
		err    string
	}{
		"one of two keys": {secret: map[string][]byte{"community": []byte("hunter-2")}},
		"none of them": {secret: map[string][]byte{"comunity": []byte("hunter-2")},
			err: "the Secret devices/pdu has none of the keys community, password; rename its key comunity to community"},
		"nothing like them": {secret: map[string][]byte{"note": []byte("mine")}, err: "the Secret devices/pdu has none of the keys community, password; add community or password there"},
		"no Secret":         {err: "Secret pdu, key community: secret devices/pdu does not exist; create it there, with key community"},
	} {
		t.Run(name, func(t *testing.T) {
			has := map[string]corev1.Secret{}
			if tc.secret != nil {
				has["/api/v1/namespaces/devices/secrets/pdu"] = corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"nodefence.io/hosts": "10.0.0.9"}}, Data: tc.secret,
				}
			}
			c := kubetest.Client(t, kubetest.Table(has, nil))
			b := Resolver{SecretsNamespace: "devices", AgentsDir: pduDir(t), Client: c}
			d, err := b.Open(t.Context(), &api.Binding{
				Driver: "fence_pdu", Params: map[string]string{"ip": "10.0.0.9", "plug": "7"},
				SecretRefs: []api.SecretRef{{Parameter: "community", Kind: api.KindSecret, Name: "pdu", Key: "community"}, {Parameter: "password", Kind: api.KindSecret, Name: "pdu", Key: "password"}},
			})
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("%v\nwant %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r, err := d.State(t.Context()); err != nil || r != (device.Reading{Power: device.On}) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
