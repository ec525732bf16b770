package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// cluster is what an API server has, by path.
type cluster map[string]any

func configMap(name string, kv ...string) corev1.ConfigMap {
	cm := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}, Data: map[string]string{}}
	for i := 0; i < len(kv); i += 2 {
		cm.Data[kv[i]] = kv[i+1]
	}
	return cm
}

const (
	props = "node_name=a\nisolation=cordon\npower_management=bmc\nrecovery=uncordon"
	bmc   = "agent_name=fence_ipmilan\naction=reboot\nip=192.0.2.7\nusername=fence\nsecret=bmc-a"
)

func own(method string) corev1.ConfigMap {
	return configMap("fence-config-node-a", "config.properties", props, "fence-method-bmc", method)
}

// secret has a password for the devices of these tests.
func secret(password string) corev1.Secret {
	return corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{config.HostsAnnotation: "192.0.2.0/24"}},
		Data:       map[string][]byte{"password": []byte(password)},
	}
}

// running is a cluster of three nodes, one policy, and these ConfigMaps.
func running(maps ...corev1.ConfigMap) cluster {
	var nodes []corev1.Node
	for _, n := range []string{"a", "b", "c"} {
		nodes = append(nodes, corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n, UID: types.UID("uid-" + n)},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		})
	}
	return cluster{
		"/api/v1/nodes": corev1.NodeList{Items: nodes},
		"/api/v1/namespaces/nodefence-system/configmaps":           corev1.ConfigMapList{Items: maps},
		"/api/v1/namespaces/nodefence-devices/secrets/bmc-a":       secret("hunter-2"),
		"/api/v1/namespaces/nodefence-devices/secrets/with-a-line": secret("hunter-2\n"),
		"/apis/nodefence.io/v1alpha1/fencepolicies": json.RawMessage(`{"items": [{"metadata": {"name": "workers", "generation": 2}, "spec": {
			"selector": {}, "precedence": 100, "mode": "Enforce", "action": "Reboot", "unhealthyConditions":[{"type": "Ready", "status": "Unknown", "duration": "10s"}],
			"limits": {"maxUnhealthy": "40%", "maxConcurrent": 1}}}]}`),
		"/apis/nodefence.io/v1alpha1/nodefences":   json.RawMessage(`{"items": []}`),
		"/apis/nodefence.io/v1alpha1/fencebudgets": json.RawMessage(`{"items": []}`),
		etcdPath:     json.RawMessage(`{"items": []}`),
		problemsPath: json.RawMessage(`{"items": []}`),
	}
}

func (c cluster) with(path, body string) cluster {
	c[path] = json.RawMessage(body)
	return c
}

// item is one object of a list that is given as text.
func (c cluster) item(of string) (any, bool) {
	var list struct{ Items []map[string]any }
	if text, ok := c[path.Dir(of)].(json.RawMessage); !ok || json.Unmarshal(text, &list) != nil {
		return nil, false
	}
	for _, o := range list.Items {
		if m, _ := o["metadata"].(map[string]any); m["name"] == path.Base(of) {
			return o, true
		}
	}
	return nil, false
}

// plan runs the program against the cluster and gives its exit code and words.
func (c cluster) plan(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	srv := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch && slices.Contains(args, "--read") {
			c.asked(t, w, r)
			return
		}
		if r.Method != http.MethodGet {
			t.Errorf("it does more than read: %s %s", r.Method, r.URL.Path)
		}
		body, ok := c[r.URL.Path]
		if !ok {
			body, ok = c.item(r.URL.Path)
		}
		switch {
		case body == http.StatusForbidden:
			kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		case ok:
			kubetest.Answer(w, body)
		case strings.HasSuffix(r.URL.Path, "/secrets/forbidden"):
			kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		default:
			kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		}
	}))
	var out, problems bytes.Buffer
	code := run(t, srv, args, &out, &problems)
	if strings.Contains(out.String()+problems.String(), "hunter") {
		t.Error("a secret is shown (S29)")
	}
	return code, out.String(), problems.String()
}

// The exit codes of the program.
const (
	refused = 1 // or known to be unusable
	failed  = 2
)

// run is the program without its flags.
func run(t *testing.T, cfg *rest.Config, args []string, out, problems io.Writer) int {
	t.Helper()
	o := Options{Settings: functions.Settings{Namespace: "nodefence-system", SecretsNamespace: "nodefence-devices", AgentsDir: agents(t), RequestNamespaces: ask.Namespaces{"nodefence-system"}}}
	form, many := "text", false
	fs := flag.NewFlagSet("plan", flag.ContinueOnError)
	fs.StringVar(&form, "o", form, "")
	fs.BoolVar(&many, "all", many, "")
	fs.BoolVar(&o.Read, "read", false, "")
	fs.Func("job-images", "", func(s string) error { o.JobImages = strings.Split(s, ","); return nil })
	fs.Func("adopt", "", o.Adopt.Decode)
	fs.Func("adopt-namespaces", "", o.AdoptNamespaces.Decode)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	o.Node = fs.Arg(0)
	all, _, err := Make(t.Context(), cfg, o)
	switch {
	case err != nil:
	case form == "json": // as the program encodes one
		err = json.NewEncoder(out).Encode(all[0])
	default:
		err = Show(out, many, all)
	}
	if err != nil {
		fmt.Fprintln(problems, err)
		return failed
	}
	switch {
	case slices.ContainsFunc(all, func(r Report) bool { return r.Bad() }):
		return refused
	case slices.ContainsFunc(all, func(r Report) bool { return r.Unknown != "" }):
		return failed
	}
	return 0
}

// agents is a folder with one agent, which has outlets.
func agents(t *testing.T) string {
	dir := t.TempDir()
	const pdu = `#!/bin/sh
[ "$*" = "-o metadata" ] || exit 1
cat <<'END'
<resource-agent name="fence_pdu"><parameters>
<parameter name="action" required="1"><content type="string" default="reboot"/></parameter>
<parameter name="ip" required="1"><content type="string"/></parameter>
<parameter name="plug" required="1"><content type="string"/></parameter>
<parameter name="password" required="0"><content type="string"/></parameter>
<parameter name="debug_file" required="0"><content type="string"/></parameter>
</parameters><actions><action name="on"/><action name="off"/><action name="status"/><action name="list"/></actions></resource-agent>
END
`
	if err := os.WriteFile(filepath.Join(dir, "fence_pdu"), []byte(pdu), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPlan(t *testing.T) {
	code, out, problems := running(own(bmc), configMap("fence-policy-fence-limit", "config.properties", "percentage=70")).
		with("/apis/nodefence.io/v1alpha1/fenceledgers/cluster", `{"metadata": {"name": "cluster"}}`).plan(t, "a")
	if code != 0 || problems != "" {
		t.Fatal(code, problems)
	}
	want := `node        a
now         nodefence has not looked at the Leases yet: no fence begins; no source leads: there is no Lease nodefence-system/nodefence-source (LeasePictureOld)
checked     ipmi 192.0.2.7:623: NotCheckedYet: it was not read yet as it is configured now
policy      workers, generation 2, mode Enforce, action Reboot
when        Ready=Unknown for 10s
limits      3 cuts a day for this node, on the last LeaveOff
limits      workers: maxUnhealthy 40%, maxConcurrent 1
limits      ConfigMap fence-policy-fence-limit: none begins from 70% unhealthy nodes on
device      ipmi 192.0.2.7:623
identity    none was enrolled: the device's word for it is not checked
  cipher    3             the default of driver ipmi
  ip        192.0.2.7      ConfigMap fence-config-node-a, key fence-method-bmc, line 3
  ipport    623            the default of driver ipmi
  password  (secret)       Secret bmc-a, key password
  privilege operator  the default of driver ipmi
  username  fence          ConfigMap fence-config-node-a, key fence-method-bmc, line 4
isolation   cordon (mark-unschedulable)
power       bmc (off)
recovery    bmc (on)
recovery    uncordon (mark-schedulable)
call 1      API server: cordon the node, and place taint nodefence.io/isolated
call 2      device ipmi 192.0.2.7:623: State
call 3      device ipmi 192.0.2.7:623: Off, if the machine reads on
call 4      device ipmi 192.0.2.7:623: State, until it reads off twice, at least 5s apart, and a whole renewal of the node's Lease if that still moved
call 5      API server: set Ready to Unknown, place the out-of-service taint, force-delete the node's pods
call 6      API server: wait until its pods and volume attachments are gone, or 5m0s
call 7      device ipmi 192.0.2.7:623: On, if it was nodefence that switched it off
call 8      device ipmi 192.0.2.7:623: State, until it reads on
call 9      API server: wait until the node is healthy for 30s, 15m0s at most; then taint and cordon away
read        ConfigMap fence-config-node-a (resourceVersion 1)
read        ConfigMap fence-policy-fence-limit (resourceVersion 1)
`
	if d := cmp.Diff(strings.Fields(want), strings.Fields(out)); d != "" {
		t.Errorf("%s\n%s", out, d)
	}
}

// TestRefused: each bad input is named by object and key, with what to do.
func TestRefused(t *testing.T) {
	const in = "ConfigMap fence-config-node-a, key fence-method-bmc"
	const pdu = "agent_name=fence_pdu\nip=192.0.2.9\nplug=7\nsecret=bmc-a"
	for name, tc := range map[string]struct {
		cluster cluster
		want    string
	}{
		"a misspelt parameter": {running(own(bmc + "\nipadress=192.0.2.7")),
			in + `, line 6: unknown parameter "ipadress" for driver ipmi; known are action, agent_name, cipher, identity, ip, ipport,`},
		"an unknown agent":          {running(own("agent_name=fence_ipmi_lan")), in + ", line 1: agent fence_ipmi_lan is not installed: there is no "},
		"a template cycle":          {running(own("template=x"), configMap("x", "template.properties", "template=x")), "ConfigMap x, key template.properties, line 1: template cycle: x, x; delete one of these template= lines"},
		"a missing Secret":          {running(own(strings.Replace(bmc, "bmc-a", "bmc-b", 1))), "Secret bmc-b, key password: secret nodefence-devices/bmc-b does not exist; create it there, with key password"},
		"a line in a value":         {running(own("agent_name=fence_pdu\nip=192.0.2.9\nplug=7\x0baction=on\nsecret=bmc-a")), in + `, line 3: the value of "plug" has control characters or is not UTF-8`},
		"a line in a secret":        {running(own(strings.Replace(bmc, "bmc-a", "with-a-line", 1))), "Secret with-a-line, key password: the value has control characters, or a line break at its end; write it with printf %s, or as stringData"},
		"a Secret for another host": {running(own(strings.Replace(bmc, "192.0.2.7", "192.0.3.7", 1))), "SecretNotForThisHost: Secret bmc-a, key password: not to be sent to 192.0.3.7; if that is its device: kubectl -n nodefence-devices annotate secret bmc-a --overwrite nodefence.io/hosts='192.0.2.0/24,192.0.3.7'"},
		"a denied parameter":        {running(own(pdu + "\ndebug_file=/etc/passwd")), in + ", line 5: parameter debug_file of agent fence_pdu is refused: what the agent would say then may have secrets in it"},
		"two nodes on one outlet": {running(own(pdu), configMap("fence-config-node-b", "config.properties", "node_name=b\npower_management=p", "fence-method-p", pdu)),
			"ConfigMap fence-config-node-b: node b has the same device address 192.0.2.9#7 as node a; neither of them is fenced before one is mended"},
		"a limit that can't be read": {running(own(bmc), configMap("fence-policy-fence-limit", "config.properties", "precentage=most")),
			`ConfigMap fence-policy-fence-limit, key config.properties, line 1: "precentage" takes a whole number from 1 to 100`},
		"no policy": {running(own(bmc)).with("/apis/nodefence.io/v1alpha1/fencepolicies", `{"items": []}`), "there is no FencePolicy in this cluster; apply one whose spec.selector selects this node"},
		"an excluded node": {running(own(bmc)).with("/apis/nodefence.io/v1alpha1/fencepolicies",
			`{"items": [{"metadata": {"name": "p"}, "spec": {"selector": {}, "mode": "Enforce", "action": "Reboot", "exclude": {"nodeNames": ["a"]}, "unhealthyConditions":[{"type": "Ready", "status": "Unknown"}]}}]}`),
			"Excluded: policy p excludes this node by spec.exclude.nodeNames"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := tc.cluster.plan(t, "-o", "json", "a")
			var r Report
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err, problems)
			}
			if code != refused || !strings.HasPrefix(r.Refused, tc.want) {
				t.Errorf("exit code %d: %s\nwant %s", code, r.Refused, tc.want)
			}
			if len(r.Calls) > 0 {
				t.Error("calls of a node that is refused:", r.Calls)
			}
		})
	}
}

func TestAll(t *testing.T) {
	code, out, _ := running(own(bmc)).plan(t, "--all")
	want := `NODE FENCE POLICY DEVICE WHY
a yes workers ipmi 192.0.2.7:623 nodefence has not looked at the Leases yet: no fence begins; no source leads: there is no Lease nodefence-system/nodefence-source (LeasePictureOld)
b refused workers no binding: there is no ConfigMap fence-config-node-b, fence-config-b, fence-config-default; and no provider ID was enrolled for node b while it was healthy; looked in namespace nodefence-system
c refused workers no binding: there is no ConfigMap fence-config-node-c, fence-config-c, fence-config-default; and no provider ID was enrolled for node c while it was healthy; looked in namespace nodefence-system
`
	if d := cmp.Diff(strings.Fields(want), strings.Fields(out)); d != "" || code != refused {
		t.Errorf("exit code %d: %s", code, d)
	}
}

// TestWhoMayNotReadSecrets is told so, and gets the rest of the report.
func TestWhoMayNotReadSecrets(t *testing.T) {
	code, out, problems := running(own(strings.Replace(bmc, "bmc-a", "forbidden", 1))).plan(t, "-o", "json", "a")
	var r Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err, problems)
	}
	if code != 0 || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "the device's Secret was not looked at: ") {
		t.Errorf("exit code %d: %+v", code, r)
	}
}
