package binding

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// TestDriversPages: the examples of the drivers' pages bind the machines that
// they say, by the drivers and the agents' names of this build.
func TestDriversPages(t *testing.T) {
	for driver, want := range map[string][]string{
		"vsphere":   {"vsphere:00112233-4455-6677-8899-aabbccddeeff"},
		"azure":     {"azure:11111111-2222-3333-4444-555555555555/rg-cluster/worker-7"},
		"manual":    {"manual:hall 2, rack 7, place 12"},
		"openstack": {"openstack:00112233-4455-6677-8899-aabbccddeeff"},
		"gce":       {"gce:my-project/europe-west1-b/worker-7"},
	} {
		t.Run(driver, func(t *testing.T) {
			var got []string
			for _, maps := range examples(t, "../device/"+driver+"/README.md") {
				address, err := resolve(maps, config.Node{Name: "worker-7"})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, address)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// resolve is the address of a node's machine.
func resolve(maps []corev1.ConfigMap, n config.Node) (string, error) {
	all := make([]config.ConfigMap, 0, len(maps))
	for i := range maps {
		all = append(all, config.ConfigMap{Name: maps[i].Name, Data: maps[i].Data})
	}
	plan, err := config.Of(all, nil, Resolver{Drivers: Drivers}.settings()).Resolve(n)
	return plan.Binding.Address, err
}

// TestEveryDriverIsHeldToTheSuite, unless it never knows the power.
func TestEveryDriverIsHeldToTheSuite(t *testing.T) {
	held := map[string]bool{"manual": true}
	for at, c := range devicetest.Counterparts {
		name, _, _ := strings.Cut(at, "/")
		held[name], held[c.Driver] = true, true
	}
	for name := range Drivers {
		if !held[name] {
			t.Errorf("driver %s has no counterpart in devicetest", name)
		}
	}
}

// TestTheDriverOfMachines has the name by which FenceRequests know it.
func TestTheDriverOfMachines(t *testing.T) {
	b := api.Binding{Driver: Drivers[api.DriverMachine].Name}
	if !b.DeletesMachine() {
		t.Errorf("no driver is named %s: %+v", api.DriverMachine, b)
	}
}

// TestDriversOfAgents: a configuration for an agent binds by its driver here, or is refused
// in words.
func TestDriversOfAgents(t *testing.T) {
	const (
		at     = "ConfigMap fence-config-node-a, key fence-method-m"
		uuid   = "00112233-4455-6677-8899-aabbccddeeff"
		vmware = "agent_name=fence_vmware_soap\nip=vc.example\nusername=u\npassword=p\n"
	)
	for name, tc := range map[string]struct{ method, want, err string }{
		"fence_vmware_soap with a UUID":        {method: vmware + "plug=" + uuid + "\nssl=1\nssl_insecure=1\npower_wait=4", want: "vsphere:" + uuid},
		"fence_vmware_soap by an older word":   {method: vmware + "port=" + uuid, want: "vsphere:" + uuid},
		"fence_vmware_soap with a name (S11)":  {method: vmware + "plug=worker-7", err: at + `: uuid "worker-7" is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff; give the BIOS UUID of the machine, its name is not taken`},
		"fence_vmware_rest with a UUID":        {method: "agent_name=fence_vmware_rest\nipaddr=vc.example\nlogin=u\npasswd=p\nplug=" + uuid, want: "vsphere:" + uuid},
		"fence_gce by the agent's words":       {method: "agent_name=fence_gce\nproject=my-project\nzone=europe-west1-b\nport=worker-7\nmethod=onoff", want: "gce:my-project/europe-west1-b/worker-7"},
		"fence_gce with a file's path":         {method: "agent_name=fence_gce\nproject=my-project\nzone=europe-west1-b\nplug=worker-7\nserviceaccount=/x", err: at + `, line 5: unknown parameter "serviceaccount" for driver gce`},
		"fence_azure_arm by older words":       {method: "agent_name=fence_azure_arm\nresourceGroup=RG\nsubscriptionId=" + uuid + "\ntenantId=t\nlogin=" + uuid + "\npasswd=p\nport=VM-7", want: "azure:" + uuid + "/rg/vm-7"},
		"fence_azure_arm that cuts a network":  {method: "agent_name=fence_azure_arm\nresourceGroup=RG\nsubscriptionId=" + uuid + "\nplug=VM-7\nnetwork-fencing=1", err: at + `, line 5: unknown parameter "network_fencing" for driver azure`},
		"fence_openstack by the agent's words": {method: "agent_name=fence_openstack\nauth-url=https://k.example/v3\nproject-name=c\nuser-domain-name=D\nlogin=u\npasswd=p\nuuid=" + uuid + "\nssl_insecure=1", want: "openstack:" + uuid},
		"fence_openstack with a file's path":   {method: "agent_name=fence_openstack\nauth-url=https://k.example/v3\nproject-name=c\nlogin=u\npasswd=p\nuuid=" + uuid + "\ncacert=/x", err: at + `, line 7: unknown parameter "cacert" for driver openstack`},
		"vsphere in its own words":             {method: "agent_name=vsphere\nserver=vc.example\nusername=u\npassword=p\nuuid=" + uuid, want: "vsphere:" + uuid},
		"fence_vmware_rest with another's API": {method: "agent_name=fence_vmware_rest\nip=vc.example\nusername=u\npassword=p\nplug=" + uuid + "\napi_path=/rest", err: at + `, line 6: unknown parameter "api_path" for driver vsphere`},
	} {
		t.Run(name, func(t *testing.T) {
			cm := write("fence-config-node-a", "config.properties", "node_name=a\npower_management=m", "fence-method-m", tc.method)
			got, err := resolve([]corev1.ConfigMap{cm}, config.Node{Name: "a"})
			text := ""
			if err != nil {
				got = ""
				text, _, _ = strings.Cut(err.Error(), "; known are ")
			}
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, text}); d != "" {
				t.Error(d)
			}
		})
	}
}
