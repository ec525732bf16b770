package binding

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent"
	"github.com/nodefence/nodefence/shared/device/job"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestSecretsGoToTheirHosts: a Secret names the hosts that its values may be sent to,
// and a driver is not opened for another one, so that nothing is sent (S11, S29).
func TestSecretsGoToTheirHosts(t *testing.T) {
	bmc := api.Binding{Driver: "ipmi", Params: map[string]string{"ip": "192.0.2.7", "username": "fence"}}
	pdu := api.Binding{Driver: "fence_pdu", Params: map[string]string{"ip": "10.0.0.9", "plug": "7"}}
	azure := api.Binding{Driver: "azure", Params: map[string]string{
		"vm": "a", "resourceGroup": "g", "subscriptionId": "11111111-2222-3333-4444-555555555555", "tenantId": "t",
		"username": "11111111-2222-3333-4444-555555555555", "endpoint": "https://elsewhere.example",
	}}
	inJob := api.Binding{Driver: job.Name, Params: map[string]string{job.AgentName: "fence_pdu", job.Image: "agents:1", "ip": "10.0.0.9", "plug": "7"}}
	const says = "SecretNotForThisHost: Secret s, key password: not to be sent to "
	for name, tc := range map[string]struct {
		bound api.Binding
		hosts string
		err   string
	}{
		"a Secret that names its BMC":   {bmc, "192.0.2.7", ""},
		"a Secret that names a network": {bmc, "192.0.2.0/24", ""},
		"a Secret that names no host":   {bmc, "", says + "192.0.2.7; if that is its device: kubectl -n devices annotate secret s nodefence.io/hosts='192.0.2.7'"},
		"a Secret that names another host": {bmc, "192.0.2.8, bmc-*.example.com", says +
			"192.0.2.7; if that is its device: kubectl -n devices annotate secret s --overwrite nodefence.io/hosts='192.0.2.8,bmc-*.example.com,192.0.2.7'"},
		"a Secret whose list can't be read":           {bmc, "192.0.2.7/33", `Secret s, annotation nodefence.io/hosts: "192.0.2.7/33" is no network, such as 192.0.2.0/24`},
		"an agent, at its device":                     {pdu, "10.0.0.9", ""},
		"an agent, at another device":                 {pdu, "10.0.0.8", says + "10.0.0.9; if that is its device: kubectl -n devices annotate secret s --overwrite nodefence.io/hosts='10.0.0.8,10.0.0.9'"},
		"an agent in a Job, at its device":            {inJob, "10.0.0.9", ""},
		"an agent in a Job, without a word":           {inJob, "", says + "10.0.0.9; if that is its device: kubectl -n devices annotate secret s nodefence.io/hosts='10.0.0.9'"},
		"a cloud, by another endpoint than its usual": {azure, "management.azure.com login.microsoftonline.com", says + "elsewhere.example; if that is its device: kubectl -n devices annotate secret s --overwrite nodefence.io/hosts='management.azure.com,login.microsoftonline.com,elsewhere.example'"},
	} {
		t.Run(name, func(t *testing.T) {
			s := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"password": []byte("hunter-2")}}
			if tc.hosts != "" {
				s.Annotations = map[string]string{"nodefence.io/hosts": tc.hosts}
			}
			c := kubetest.Client(t, kubetest.Table(map[string]corev1.Secret{"/api/v1/namespaces/devices/secrets/s": s}, nil))
			b := Resolver{SecretsNamespace: "devices", AgentsDir: pduDir(t), JobImages: []string{"agents:1"}, Client: c, Drivers: Drivers}
			tc.bound.SecretRefs = []api.SecretRef{{Parameter: "password", Kind: api.KindSecret, Name: "s", Key: "password"}}
			_, err := b.Open(t.Context(), &tc.bound)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if d := cmp.Diff(tc.err, said); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestEveryDriverSaysWhereSecretsGo pins for each driver that takes a secret which hosts
// are compared.
func TestEveryDriverSaysWhereSecretsGo(t *testing.T) {
	const uuid = "11111111-2222-3333-4444-555555555555"
	vm := map[string]string{"vm": "a", "resourceGroup": "g", "subscriptionId": uuid}
	server := map[string]string{"uuid": uuid, "auth_url": "https://Keystone.example:5000/v3", "project_name": "p"}
	inst := map[string]string{"instance": "i-0123456789abcdef0", "region": "eu-west-1"}
	with := func(p map[string]string, kv ...string) map[string]string {
		p = maps.Clone(p)
		for i := 0; i < len(kv); i += 2 {
			p[kv[i]] = kv[i+1]
		}
		return p
	}
	google := map[string]string{"instance": "a", "zone": "europe-west1-b", "project": "my-project"}
	got, want := map[string][]string{}, map[string][]string{}
	for name, tc := range map[string]struct {
		driver string
		params map[string]string
		want   []string
	}{
		"ipmi":                        {"ipmi", map[string]string{"ip": "BMC-7.Example.com."}, []string{"bmc-7.example.com"}},
		"redfish":                     {"redfish", map[string]string{"ip": "[2001:DB8::7]"}, []string{"2001:db8::7"}},
		"vsphere":                     {"vsphere", map[string]string{"server": "vcenter.example"}, []string{"vcenter.example"}},
		"azure":                       {"azure", vm, []string{"management.azure.com", "login.microsoftonline.com"}},
		"azure, elsewhere":            {"azure", with(vm, "authority", "https://x.example"), []string{"management.azure.com", "x.example"}},
		"gce":                         {"gce", google, []string{"compute.googleapis.com", "oauth2.googleapis.com"}},
		"gce, elsewhere":              {"gce", with(google, "token_uri", "https://x.example/t"), []string{"compute.googleapis.com", "x.example"}},
		"openstack":                   {"openstack", server, []string{"keystone.example"}},
		"ec2":                         {"ec2", inst, []string{"ec2.eu-west-1.amazonaws.com"}},
		"ec2 in China":                {"ec2", with(inst, "region", "cn-north-1"), []string{"ec2.cn-north-1.amazonaws.com.cn"}},
		"ec2, elsewhere":              {"ec2", with(inst, "endpoint", "https://x.example:8443"), []string{"x.example"}},
		"ec2-network":                 {"ec2-network", inst, []string{"ec2.eu-west-1.amazonaws.com"}},
		"machine, of EC2":             {"machine", map[string]string{"provider_id": "aws:///eu-west-1a/i-0123456789abcdef0"}, []string{"ec2.eu-west-1.amazonaws.com"}},
		"a BMC's agent":               {"fence_rsb", map[string]string{"ip": "192.0.2.7"}, []string{"192.0.2.7"}},
		"an agent with a URL":         {"fence_xenapi", map[string]string{"session_url": "https://xen.example", "plug": "a"}, []string{"xen.example"}},
		"an agent that knows its API": {"fence_aliyun", map[string]string{"plug": "a", "region": "eu-central-1"}, []string{"fence_aliyun"}},
		"an agent behind a proxy":     {"fence_ibm_vpc", map[string]string{"plug": "a", "region": "us-south", "proxy": "https://p.example:8080"}, []string{"p.example", "fence_ibm_vpc"}},
	} {
		want[name] = tc.want
		kind, ours := Drivers[tc.driver]
		if !ours {
			var err error
			if kind, err = agent.Declared(tc.driver, ""); err != nil {
				t.Fatal(err)
			}
		}
		hosts, err := kind.Hosts(tc.params)
		if got[name] = hosts; err != nil {
			t.Error(name, err)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for name, k := range Drivers {
		if slices.ContainsFunc(k.Params, func(p device.Param) bool { return p.Secret }) && k.Hosts == nil {
			t.Errorf("driver %s takes a Secret, and does not say where it sends it", name)
		}
	}
}
