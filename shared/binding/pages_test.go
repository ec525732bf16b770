package binding

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// examples are the ConfigMaps of each block of a page.
func examples(t *testing.T, file string) [][]corev1.ConfigMap {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]corev1.ConfigMap
	blocks := strings.Split(string(page), "```")
	for i := 1; i < len(blocks); i += 2 {
		text, isYAML := strings.CutPrefix(blocks[i], "yaml\n")
		if !isYAML {
			continue
		}
		var maps []corev1.ConfigMap
		for doc := range strings.SplitSeq(text, "\n---\n") {
			var cm corev1.ConfigMap
			if err := yaml.Unmarshal([]byte(doc), &cm); err != nil {
				t.Fatal(err)
			}
			if cm.Kind == "ConfigMap" {
				maps = append(maps, cm)
			}
		}
		all = append(all, maps)
	}
	return all
}

// TestTheRedfishPage: its examples bind the machines that they say.
func TestTheRedfishPage(t *testing.T) {
	want := []string{
		"redfish:10.0.0.7:443/redfish/v1/systems/system.embedded.1",
		"redfish:bmc-7.example:443/00112233-4455-6677-8899-aabbccddeeff",
	}
	var got []string
	for _, maps := range examples(t, "../device/redfish/README.md") {
		b := stored(t, maps, nil)
		b.Drivers = Drivers
		n := node("worker-7", "1", "")
		bound, err := binding(b.Bind(t.Context(), &n))
		if err != nil {
			t.Fatal(err)
		}
		if ref, _ := api.RefOf(bound.SecretRefs, "password"); ref.Kind != api.KindSecret {
			t.Errorf("the password is not from a Secret: %+v", bound.SecretRefs)
		}
		got = append(got, bound.Address)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestAgentsOfOthers: what was written for agents binds, or is refused in words.
func TestAgentsOfOthers(t *testing.T) {
	const at = "ConfigMap fence-config-node-a, key fence-method-m"
	method := "agent_name=fence_redfish\nusername=u\npassword=p\n"
	for name, tc := range map[string]struct {
		method string
		want   string
		err    string
	}{
		"by the agent's words":        {method: method + "ip=10.0.0.7\nipport=8443\nsystems_uri=/redfish/v1/Systems/1\nssl=1\nssl_insecure=1\npower_wait=4", want: "redfish:10.0.0.7:8443/redfish/v1/systems/1"},
		"by older words, with dashes": {method: "agent_name=fence-redfish\nlogin=u\npasswd=p\nipaddr=10.0.0.7\nsystems-uri=/redfish/v1/Systems/1\nredfish-uri=/redfish/v1", want: "redfish:10.0.0.7:443/redfish/v1/systems/1"},
		"by our own word":             {method: "agent_name=redfish\nhost=10.0.0.7\nusername=u\npassword=p\nuuid=00112233-4455-6677-8899-aabbccddeeff", want: "redfish:10.0.0.7:443/00112233-4455-6677-8899-aabbccddeeff"},
		"no system named":             {method: method + "ip=10.0.0.7", err: at + ": systems_uri and uuid are both missing: say which system of the BMC is meant, by one of them"},
		"a plug that is an address":   {method: method + "ip=10.0.0.7\nplug=10.0.0.8", err: at + `: uuid "10.0.0.8" is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff`},
		"a plug in place of the ip":   {method: method + "plug=10.0.0.8\nport_as_ip=1", err: at + `, line 5: unknown parameter "port_as_ip" for driver redfish; known are action, agent_name, auth, ca, ip, ipport, must_success, name, namespace, node_name, password, redfish_uri, secret, settle, ssl, ssl_insecure, ssl_secure, systems_uri, template, username, uuid`},
		"two words for one":           {method: method + "ip=10.0.0.7\nhost=10.0.0.8", err: at + `, line 5: "host" is given twice; it stands in line 4 already as "ip"`},
	} {
		t.Run(name, func(t *testing.T) {
			cm := write("fence-config-node-a", "config.properties", "node_name=a\npower_management=m", "fence-method-m", tc.method)
			b := stored(t, []corev1.ConfigMap{cm}, nil)
			b.Drivers = Drivers
			n := node("a", "1", "")
			bound, err := binding(b.Bind(t.Context(), &n))
			got, text := "", ""
			if bound != nil {
				got = bound.Address
			}
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, text}); d != "" {
				t.Error(d)
			}
		})
	}
}
