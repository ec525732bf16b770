package binding

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/readiness"
)

// said is everything of a resolution that a fence or a check goes by.
func said(devices []api.Binding, p *api.ResolvedPolicy, err error) string {
	raw, _ := json.Marshal(struct {
		Devices []api.Binding
		Policy  *api.ResolvedPolicy
	}{devices, p})
	var refused *config.Refused
	var unfit *readiness.Unfit
	reason := api.Reason("")
	if errors.As(err, &unfit) {
		reason = unfit.Reason
	}
	return fmt.Sprintf("%s %v refused=%t %s", raw, err, errors.As(err, &refused), reason)
}

// The names, machines and methods that the random clusters have. They are few, so that
// they meet.
var (
	nodeNames = []string{"a", "b", "7", "on-7"}
	providers = []string{
		"", "", "aws:///eu-west-1a/" + instance, "aws:///eu-west-1b/" + instance, "aws:///eu-west-1a/" + another, "aws:///us-east-1a/" + another,
		"gce://pro-ject/europe-west1-b/n1", "gce://pro-ject/europe-west1-c/n1", "gce://pro-ject/europe-west1-b/n2", "kind://docker/x/y",
		"openstack:///00112233-4455-6677-8899-aabbccddeeff", "openstack:///33221100-5544-7766-8899-aabbccddeeff", "openstack://r/10112233-4455-6677-8899-aabbccddeeff",
		"azure:///subscriptions/00112233-4455-6677-8899-aabbccddeeff/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm1",
		"azure:///subscriptions/00112233-4455-6677-8899-aabbccddeeff/resourceGroups/h/providers/Microsoft.Compute/virtualMachines/VM1",
	}
	methods = []string{
		"agent_name=fence_ipmilan\nip=10.0.0.1\nusername=u\nsecret=s", "agent_name=fence_ipmilan\nip=10.0.0.2\nusername=u\nsecret=s",
		"agent_name=fence_ipmilan\nip=10.0.0.1\nusername=u\nsecret=s\naction=on", "agent_name=fence_ipmilan\nusername=u", "template=t\nip=10.0.0.1", "template=t",
		"agent_name=fence_aws", "agent_name=fence_aws\nregion=eu-west-1", "agent_name=fence_aws\nplug=" + instance + "\nregion=eu-west-1",
		"agent_name=fence_aws\nplug=" + another + "\nregion=eu-west-1\naction=on", "agent_name=fence_aws\nplug=" + instance,
		"agent_name=fence_gce", "agent_name=fence_gce\nplug=n1", "agent_name=fence_gce\nplug=n1\nzone=europe-west1-b\nproject=pro-ject", "agent_name=fence_gce\nzone=europe-west1-b\nid=17",
		"agent_name=fence_openstack\nauth_url=https://k.example/v3\nproject_name=p\nusername=u\nsecret=s",
		"agent_name=fence_openstack\nauth_url=https://k.example/v3\nproject_name=p\nusername=u\nsecret=s\nuuid=00112233-4455-6677-8899-aabbccddeeff",
		"agent_name=azure\nsecret=s\nclient_id=c\ntenant_id=t", "agent_name=machine", "agent_name=fence_apc\njob_image=image\nip=10.0.0.9\nplug=1\nusername=u\nsecret=s",
		"agent_name=fence_gone\nip=10.0.0.9", "agent_name=networkfence\ncidrs=10.1.0.1\ndriver=d.example", "agent_name=manual", "nonsense",
	}
	lines = []string{
		"power_management=m", "power_management=m-on", "power_management=m m-on", "power_management=restart-instance", "power_management=m\nrecovery=m-on",
		"power_management=m\npower_management_2=m-on", "isolation=n\npower_management=m", "power_management=m\nwrong=x",
	}
)

// anyMap is a ConfigMap of those that people write.
func anyMap(r *rand.Rand) corev1.ConfigMap {
	node := some(r, nodeNames...)
	method := func(cm corev1.ConfigMap) corev1.ConfigMap {
		for _, m := range []string{"m", "m-on", "n"} {
			if r.IntN(2) == 0 {
				cm.Data["fence-method-"+m] = some(r, methods...)
			}
		}
		return cm
	}
	switch r.IntN(10) {
	case 0, 1, 2:
		return method(write(some(r, "fence-config-node-", "fence-config-node-", "fence-config-")+node, "config.properties", "node_name="+node+"\n"+some(r, lines...)))
	case 3:
		return method(write(some(r, "fence-config-default", "fence-config-type-t", "fence-config-type-u"), "config.properties", some(r, lines...)))
	case 4, 5:
		return write("fence-method-"+some(r, "m", "m-on", "n")+"-"+node, "method.properties", some(r, methods...))
	case 6:
		return write("fence-method-"+some(r, "m", "m-on", "n"), "method.properties", some(r, methods...))
	case 7:
		return write("fence-policy-fence-limit", "config.properties", some(r, "percentage=30", "percentage=40", "percentage=most"))
	case 8:
		return write("fence-cluster-config", "config.properties", some(r, "grace_timeout=90\ngiveup_retries=7", "grace_timeout=30", "grace_timeout=x"))
	}
	return write(some(r, "t", "kube-root-ca.crt"), "template.properties", some(r, methods...))
}

// settle makes a cluster in which most nodes have a device.
func (w *world) settle(r *rand.Rand) {
	for i, name := range nodeNames {
		n := node(name, "first-"+name, "")
		w.nodes[name] = &n
		if r.IntN(3) > 0 {
			w.put(write("fence-config-node-"+name, "config.properties", "node_name="+name+"\npower_management=m",
				"fence-method-m", some(r, fmt.Sprintf("agent_name=fence_ipmilan\nip=10.0.0.%d\nusername=u\nsecret=s", i+1), "agent_name=fence_aws", "agent_name=fence_gce")))
		}
		if r.IntN(3) > 0 {
			w.put(enrol(name, "first-"+name, some(r, fmt.Sprintf("aws:///eu-west-1a/i-0123456789abcde%02d", i), providers[i])))
		}
	}
	if r.IntN(2) == 0 {
		w.put(write("fence-config-default", "config.properties", some(r, "power_management=restart-instance", "power_management=m"), "fence-method-m", "agent_name=fence_aws"))
	}
	for range r.IntN(5) {
		w.change(r)
	}
}

// change makes one change to a cluster.
func (w *world) change(r *rand.Rand) {
	name := some(r, nodeNames...)
	switch r.IntN(12) {
	case 0, 1, 2:
		w.put(anyMap(r))
	case 3, 4, 5:
		if len(w.maps) > 0 {
			delete(w.maps, some(r, sorted(w.maps)...))
		}
	case 6, 7:
		cm := enrol(name, "gone", some(r, providers...))
		if n := w.nodes[name]; n != nil && r.IntN(5) > 0 {
			cm.Data["node_uid"] = string(n.UID)
		}
		cm.Data["role"] = some(r, kube.WorkerRole, "control-plane")
		w.put(cm)
	case 8:
		if cm := w.maps[some(r, append(sorted(w.maps), "none")...)]; cm != nil { // touched, or made another kind of ConfigMap
			touched := cm.DeepCopy()
			if r.IntN(4) == 0 {
				touched.Labels = some(r, nil, map[string]string{kube.EnrolledLabel: "true"})
			}
			w.put(*touched)
		}
	case 9:
		w.rv++
		n := node(name, fmt.Sprint("node-", w.rv), "")
		w.nodes[name] = &n
	case 10:
		if n := w.nodes[name]; n != nil {
			n.Labels = some(r, nil, map[string]string{"type": "t"}, map[string]string{"type": "u"})
		}
	case 11:
		if r.IntN(3) == 0 {
			delete(w.nodes, name)
		}
	}
}

// TestAKeptBindingIsWhatResolvingGives, over many clusters, whatever changes after the
// check (S11): the same devices, the same refusal, and the same policy.
func TestAKeptBindingIsWhatResolvingGives(t *testing.T) {
	used, refusals, listed := 0, 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t)
		w.settle(r)
		for step := range 12 {
			w.seen()
			for _, name := range nodeNames {
				if w.nodes[name] == nil {
					continue
				}
				want := w.without(func() string { return w.check(name) })
				if got := w.check(name); got != want {
					t.Fatalf("seed %d, step %d: a check of %s gets\n%s\nwant\n%s", seed, step, name, got, want)
				}
			}
			for range r.IntN(3) {
				w.change(r)
			}
			w.seen()
			for _, name := range nodeNames {
				before := w.lists
				got := w.bind(name)
				if w.lists == before {
					used++
					refusals += strings.Count(got, "refused=true")
				} else {
					listed++
				}
				if want := w.without(func() string { return w.bind(name) }); got != want {
					t.Fatalf("seed %d, step %d: a fence of %s gets\n%s\nwant\n%s", seed, step, name, got, want)
				}
			}
		}
	}
	t.Logf("%d taken as they were kept, %d of them refusals, and %d resolved anew", used, refusals, listed)
	if used-refusals < 500 || refusals < 500 || listed < 500 {
		t.Error("too few of one kind for a test")
	}
}
