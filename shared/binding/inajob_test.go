package binding

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestBindAnAgentInJobs: by a list if it is not installed here, by its own
// metadata if it is, also where a driver of ours would take its device.
func TestBindAnAgentInJobs(t *testing.T) {
	const (
		at    = "ConfigMap fence-config-node-a, key fence-method-m, line "
		image = "job_image=registry.example/agents:1\n"
	)
	apc := "agent_name=fence-apc\n" + image + "ip=10.0.0.9\nport=7\nlogin=fence\nsecret=pdu\n"
	one := []string{"registry.example/agents:1"}
	for name, tc := range map[string]struct {
		dir, method string
		images      []string
		more        []corev1.ConfigMap
		want        *api.Binding
		err         string
	}{
		"as it is": {method: apc, images: one, want: &api.Binding{
			Name: "power-1", Role: api.RolePower,
			Driver: "job", Address: "10.0.0.9#7", EffectDelay: metav1.Duration{Duration: 55 * time.Second},
			Params:     map[string]string{"agent_name": "fence-apc", "job_image": one[0], "ip": "10.0.0.9", "plug": "7", "username": "fence"},
			SecretRefs: []api.SecretRef{{Parameter: "password", Kind: api.KindSecret, Name: "pdu", Key: "password"}},
			Sources:    read("fence-config-node-a@1"),
		}},
		"by its own metadata": {dir: pduDir(t), method: "agent_name=fence_pdu\n" + image + "ip=10.0.0.9\nplug=7\nsecret=pdu\n", images: one, want: &api.Binding{
			Name: "power-1", Role: api.RolePower,
			Driver: "job", Address: "10.0.0.9#7", EffectDelay: metav1.Duration{Duration: 55 * time.Second},
			Params:     map[string]string{"agent_name": "fence_pdu", "job_image": one[0], "ip": "10.0.0.9", "plug": "7"},
			SecretRefs: []api.SecretRef{{Parameter: "community", Kind: api.KindSecret, Name: "pdu", Key: "community"}, {Parameter: "password", Kind: api.KindSecret, Name: "pdu", Key: "password"}},
			Sources:    read("fence-config-node-a@1"),
		}},
		"no image is allowed": {method: apc, err: "ConfigMap fence-config-node-a, key fence-method-m: job_image is refused: no image is allowed here; set NODEFENCE_JOB_IMAGES of the functions to those that may be handed the devices' credentials"},
		"another image": {method: apc, images: []string{"registry.example/agents:2"},
			err: `ConfigMap fence-config-node-a, key fence-method-m: job_image "registry.example/agents:1" is none of those that NODEFENCE_JOB_IMAGES allows: registry.example/agents:2`},
		"a driver of ours": {method: "agent_name=ipmi\n" + image + "ip=10.0.0.7\n", images: one, err: at + `1: "ipmi" is not the name of a fence agent, such as fence_apc`},
		"fence_aws, which stops nothing off EC2": {method: "agent_name=fence_aws\n" + image + "plug=i-0123456789abcdef0\nregion=eu-west-1\n", images: one,
			err: at + "1: agent fence_aws is refused: it stops nothing where it does not run on a running EC2 instance of the same account, and says that it did; leave job_image out: then driver ec2 takes its place"},
		"fence_vmware_rest, which calls what is suspended off (S2)": {method: "agent_name=fence_vmware_rest\n" + image + "ip=vc.example\nplug=worker-7\n", images: one,
			err: at + "1: agent fence_vmware_rest is refused: it calls a machine off that is suspended, and may go on where it was; leave job_image out: then driver vsphere takes its place"},
		"a built-in": {method: "agent_name=cordon\n" + image, images: one, err: at + `1: "cordon" is not the name of a fence agent, such as fence_apc`},
		"a denied parameter": {method: apc + "telnet_path=/bin/sh", images: one,
			err: at + "7: parameter telnet_path of agent fence_apc is refused: it names a program or a command, and nodefence runs no programs that a configuration names"},
		"the BMC of another node, by a driver of ours (S11)": {method: "agent_name=fence_ipmilan\n" + image + "ip=10.0.0.7\nusername=u\nsecret=s\n", images: one,
			more: []corev1.ConfigMap{write("fence-config-node-b", "config.properties", "node_name=b\npower_management=m",
				"fence-method-m", "agent_name=fence_ipmilan\nip=10.0.0.7\nusername=u\nsecret=s")},
			err: "ConfigMap fence-config-node-b: node b has the same device address 10.0.0.7:623 as node a; neither of them is fenced before one is mended"},
	} {
		t.Run(name, func(t *testing.T) {
			a := node("a", "1", "")
			b := stored(t, append(tc.more, write("fence-config-node-a", "config.properties", "node_name=a\npower_management=m", "fence-method-m", tc.method)), []corev1.Node{a})
			b.AgentsDir, b.JobImages = tc.dir, tc.images
			got, err := binding(b.Bind(t.Context(), &a))
			if text := words(err); text != tc.err {
				t.Errorf("%s\nwant %s", text, tc.err)
			}
			if tc.err == "" {
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// TestTheJobPage: its example binds the machine that it says.
func TestTheJobPage(t *testing.T) {
	var got []string
	for _, maps := range examples(t, "../device/job/README.md") {
		b := stored(t, maps, nil)
		b.JobImages = []string{"registry.example.com/fence-agents:4.12.1"}
		n := node("worker-7", "1", "")
		bound, err := binding(b.Bind(t.Context(), &n))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, bound.Driver+" "+bound.Address)
	}
	if d := cmp.Diff([]string{"job 10.0.0.9#7"}, got); d != "" {
		t.Error(d)
	}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
