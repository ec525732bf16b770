package binding

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent"
	"github.com/nodefence/nodefence/test/pages"
)

// examples are the ConfigMaps of each block of a page.
func examples(t *testing.T, file string) [][]corev1.ConfigMap {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]corev1.ConfigMap
	for _, b := range pages.Of(file, string(page)) {
		if b.Lang != "yaml" {
			continue
		}
		var maps []corev1.ConfigMap
		for _, doc := range b.Docs() {
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
		"a plug in place of the ip":   {method: method + "plug=10.0.0.8\nport_as_ip=1", err: at + `, line 5: unknown parameter "port_as_ip" for driver redfish; known are action, agent_name, auth, ca, identity, ip, ipport, must_success, name, namespace, node_name, password, redfish_uri, secret, settle, ssl, ssl_insecure, ssl_secure, systems_uri, template, username, uuid`},
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

// TestEveryPage: each ConfigMap for devices, and each part of one, that a page has binds a node.
func TestEveryPage(t *testing.T) {
	blocks, err := pages.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range blocks {
		var tries [][]config.ConfigMap
		switch b.Class() {
		case pages.Manifest:
			if maps := deviceMaps(t, b); len(maps) > 0 {
				tries = [][]config.ConfigMap{maps}
			}
		case pages.Device:
			tries = wholeMaps(t, b)
		}
		if tries == nil {
			continue
		}
		n++
		var problems []error
		for _, maps := range tries {
			problems = append(problems, bindsAll(b, maps))
		}
		if !slices.Contains(problems, nil) {
			t.Errorf("%s binds no node: %v\n%s", b.At(), errors.Join(problems...), b.Text)
		}
	}
	if n < 20 {
		t.Errorf("only %d examples were found", n)
	}
}

// deviceMaps are a block's ConfigMaps, if it binds nodes.
func deviceMaps(t *testing.T, b pages.Block) (maps []config.ConfigMap) {
	t.Helper()
	binds := false
	for _, doc := range b.Docs() {
		var cm corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(doc), &cm); err != nil {
			t.Fatal(b.At(), err)
		}
		if cm.Kind == "ConfigMap" {
			maps = append(maps, config.ConfigMap{Name: cm.Name, Data: cm.Data})
			binds = binds || strings.HasPrefix(cm.Name, "fence-config-")
		}
	}
	if !binds {
		return nil
	}
	return maps
}

var method = regexp.MustCompile(`\b(bmc|pdu\d)(-on|-off)?\b`)

// wholeMaps are ConfigMaps of which the block is a part: of one method, as a node's power or as its
// isolation, or of a node's configuration with the methods that it names.
func wholeMaps(t *testing.T, b pages.Block) [][]config.ConfigMap {
	t.Helper()
	const bmc = "agent_name=fence_ipmilan\nip=10.0.0.9\nusername=u\nsecret=s\n"
	whole := func(data map[string]string, says string) []config.ConfigMap {
		data["config.properties"] = "node_name=worker-7\n" + says
		return []config.ConfigMap{{Name: "fence-config-node-worker-7", Data: data}}
	}
	text := b.Text
	if strings.HasPrefix(text, "agent_name=") {
		return [][]config.ConfigMap{
			whole(map[string]string{"fence-method-m": text}, "power_management=m\n"),
			whole(map[string]string{"fence-method-m": text, "fence-method-bmc": bmc}, "isolation=m\npower_management=bmc\n"),
		}
	}
	if _, quoted := strings.CutPrefix(text, "config.properties:"); quoted {
		var data map[string]string
		if err := yaml.Unmarshal([]byte(text), &data); err != nil {
			t.Fatal(b.At(), err)
		}
		text = data["config.properties"]
	}
	data := map[string]string{}
	for _, m := range method.FindAllStringSubmatch(text, -1) {
		data["fence-method-"+m[0]] = fmt.Sprintf("agent_name=fence_ipmilan\nip=%s.example\nusername=u\nsecret=s\n", m[1])
		if m[2] != "" {
			data["fence-method-"+m[0]] += "action=" + m[2][1:] + "\n"
		}
	}
	return [][]config.ConfigMap{whole(data, text)}
}

var worker = regexp.MustCompile(`worker-\d+`)

// bindsAll is why one of the nodes that a block names is not bound by these ConfigMaps.
func bindsAll(b pages.Block, maps []config.ConfigMap) error {
	names := worker.FindAllString(b.Text, -1)
	if names == nil {
		names = []string{"worker-7"}
	}
	settings := Resolver{Drivers: Drivers, JobImages: []string{"registry.example.com/fence-agents:4.12.1"}}.settings()
	settings.Find = func(name string) (device.Kind, error) { return agent.Declared(name, "") } // as where agents are installed
	for _, name := range names {
		n := config.Node{Name: name, Type: "rack", Identity: "00112233-4455-6677-8899-aabbccddeeff", ProviderID: "aws:///eu-west-1a/" + instance}
		p, err := config.Of(maps, nil, settings).Resolve(n)
		if err == nil && p.Binding.Driver == "" {
			err = errors.New("no device is bound")
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	return nil
}
