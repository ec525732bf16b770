package binding

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/ipmi"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// stored answers for an API server that has these ConfigMaps and Nodes.
func stored(t *testing.T, maps []corev1.ConfigMap, all []corev1.Node) Resolver {
	t.Helper()
	for i := range maps {
		maps[i].Namespace = "ns"
	}
	has := map[string]any{"/api/v1/namespaces/ns/configmaps": corev1.ConfigMapList{Items: maps}}
	for _, n := range all {
		has["/api/v1/nodes/"+n.Name] = n
	}
	return Resolver{
		Namespace: "ns", Client: kubetest.Client(t, kubetest.Table(has, nil)),
		Drivers: map[string]device.Kind{"ipmi": ipmi.Kind(), "ec2": ec2.Kind()},
	}
}

const (
	instance = "i-0123456789abcdef0"
	another  = "i-0fedcba9876543210"
)

// binding is the device to which a node is bound.
func binding(b *config.Bound, err error) (*api.Binding, error) {
	if b == nil {
		return nil, err
	}
	return &b.Devices[0], err
}

func enrol(node, uid, providerID string) corev1.ConfigMap {
	return corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: kube.EnrolledName(node), ResourceVersion: "4", Labels: map[string]string{kube.EnrolledLabel: "true"}},
		Data:       map[string]string{"node_name": node, "node_uid": uid, "system_uuid": "uuid-" + node, "provider_id": providerID},
	}
}

func node(name, uid, providerID string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func write(name string, kv ...string) corev1.ConfigMap {
	cm := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}, Data: map[string]string{}}
	for i := 0; i < len(kv); i += 2 {
		cm.Data[kv[i]] = kv[i+1]
	}
	return cm
}

// TestBindInACluster: the cluster's own ConfigMaps are applied over the policy, and a fault
// in them binds no node.
func TestBindInACluster(t *testing.T) {
	a := node("a", "1", "")
	limit := func(text string) []corev1.ConfigMap {
		return []corev1.ConfigMap{enrol("a", "1", "aws:///eu-west-1a/"+instance), write("fence-policy-fence-limit", "config.properties", text)}
	}
	b, err := stored(t, limit("percentage=30"), nil).Bind(t.Context(), &a)
	if err != nil {
		t.Fatal(err)
	}
	var p api.ResolvedPolicy
	b.Over(&p)
	if len(p.Limits) != 1 || p.Limits[0].SkipFrom != 30 {
		t.Errorf("the limit is not over the policy: %+v", p)
	}
	_, err = stored(t, limit("percentage=most"), nil).Bind(t.Context(), &a)
	var refused *config.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "ConfigMap fence-policy-fence-limit, key config.properties, line 1: ") {
		t.Error(err)
	}
}

// TestBindANodeThatIsMissing: its machine is the one that was enrolled while it was
// there, as a worker, and that no other node is by now (S11, S13).
func TestBindANodeThatIsMissing(t *testing.T) {
	const id = "aws:///eu-west-1a/" + instance
	as := func(role string, cm corev1.ConfigMap) corev1.ConfigMap { cm.Data["role"] = role; return cm }
	b := node("b", "2", "")
	for name, c := range map[string]struct {
		maps []corev1.ConfigMap
		all  []corev1.Node
		want string
	}{
		"as a worker":                          {[]corev1.ConfigMap{as("worker", enrol("a", "1", id))}, nil, ""},
		"as a node of the control plane":       {[]corev1.ConfigMap{as("control-plane", enrol("a", "1", id))}, nil, "not enrolled as a worker"},
		"before roles were":                    {[]corev1.ConfigMap{enrol("a", "1", id)}, nil, "not enrolled as a worker"},
		"never":                                {nil, nil, "not enrolled as a worker"},
		"another node is that machine by now":  {[]corev1.ConfigMap{as("worker", enrol("a", "1", id)), as("worker", enrol("b", "2", id))}, []corev1.Node{b}, "enrolled as the same machine"},
		"another node was, and is missing too": {[]corev1.ConfigMap{as("worker", enrol("a", "1", id)), as("worker", enrol("b", "2", id))}, nil, ""},
	} {
		bound, err := stored(t, c.maps, c.all).Bind(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		var refused *config.Refused
		if c.want == "" && (err != nil || bound.Devices[0].Address != "ec2:eu-west-1/"+instance) ||
			c.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v %v, want %q", name, bound, err, c.want)
		}
	}
}

func TestBindOnAWS(t *testing.T) {
	const (
		here    = "aws:///eu-west-1a/" + instance
		there   = "aws:///eu-west-1a/" + another
		address = "ec2:eu-west-1/" + instance
		none    = "no binding: there is no ConfigMap fence-config-node-a, fence-config-a, fence-config-default; and "
		in      = "; looked in namespace ns"
		twice   = "node b was enrolled as the same machine as node a, " + address + "; neither of them is fenced before one is mended"
	)
	bound := func(change ...func(*api.Binding)) *api.Binding {
		b := &api.Binding{
			Name: "power-1", Role: api.RolePower,
			Driver: "ec2", Address: address, Identity: instance, EffectDelay: metav1.Duration{Duration: 30 * time.Second}, Lead: &metav1.Duration{},
			Params: map[string]string{"instance": instance, "region": "eu-west-1"}, Sources: read("fence-enrolled-a@4"),
		}
		for _, c := range change {
			c(b)
		}
		return b
	}
	from := func(s ...string) func(*api.Binding) { return func(b *api.Binding) { b.Sources = read(s...) } }
	keys := func(b *api.Binding) {
		b.SecretRefs = []api.SecretRef{{Parameter: "access_key", Kind: api.KindSecret, Name: "aws", Key: "access_key"}, {Parameter: "secret_key", Kind: api.KindSecret, Name: "aws", Key: "secret_key"}}
	}
	method := "agent_name=fence_aws\naction=reboot\n"
	for name, tc := range map[string]struct {
		maps []corev1.ConfigMap
		// nodes besides a, which says now that it is another instance.
		nodes []corev1.Node
		want  *api.Binding
		err   string
	}{
		"the instance is the one that was enrolled, whatever the Node says now (S11)": {
			maps: []corev1.ConfigMap{enrol("a", "1", here)}, want: bound()},
		"restart-instance by name": {
			maps: []corev1.ConfigMap{enrol("a", "1", here), write("fence-config-default", "config.properties", "power_management=restart-instance")},
			want: bound(from("fence-config-default@1", "fence-enrolled-a@4"))},
		"fence_aws for all nodes, with a user's keys": {
			maps: []corev1.ConfigMap{enrol("a", "1", here), write("fence-config-default", "config.properties", "power_management=aws", "fence-method-aws", method+"secret=aws")},
			want: bound(from("fence-config-default@1", "fence-enrolled-a@4"), keys)},
		"fence_aws as it is, not enrolled": {
			maps: []corev1.ConfigMap{write("fence-config-node-a", "config.properties", "node_name=a\npower_management=aws", "fence-method-aws", method+"plug="+instance+"\nregion=eu-west-1\nboto3_debug=off\npower_timeout=60")},
			want: bound(from("fence-config-node-a@1"))},
		"fence_aws as it is, and another instance enrolled (S11)": {
			maps: []corev1.ConfigMap{enrol("a", "1", there), write("fence-config-node-a", "config.properties", "node_name=a\npower_management=aws", "fence-method-aws", method+"plug="+instance+"\nregion=eu-west-1")},
			err:  "ConfigMap fence-config-node-a, key fence-method-aws: " + address + " is not the machine that node a was enrolled as, ec2:eu-west-1/" + another + "; leave the enrolled parameters out, or mend them"},
		"nothing enrolled: the Node's own word is not taken (S11)": {
			err: none + "no provider ID was enrolled for node a while it was healthy" + in},
		"another Node object of the name was enrolled": {
			maps: []corev1.ConfigMap{enrol("a", "0", here)}, err: none + "no provider ID was enrolled for node a while it was healthy" + in},
		"what only looks like an enrolment": {
			maps: []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "fence-enrolled-a"}, Data: enrol("a", "1", here).Data}},
			err:  none + "no provider ID was enrolled for node a while it was healthy" + in},
		"an enrolment without a provider ID": {
			maps: []corev1.ConfigMap{enrol("a", "1", "")}, err: none + "no provider ID was enrolled for node a while it was healthy" + in},
		"another cloud": {
			maps: []corev1.ConfigMap{enrol("a", "1", "gce://p/z/n")}, err: none + `provider ID "gce://p/z/n", with which node a was enrolled, is no instance of a cloud that this build knows (ec2)` + in},
		"two nodes of one instance (S11)": {
			maps: []corev1.ConfigMap{enrol("a", "1", here), enrol("b", "2", here)}, nodes: []corev1.Node{node("b", "2", "")}, err: twice},
		"two nodes of one instance, of which one is gone": {
			maps: []corev1.ConfigMap{enrol("a", "1", here), enrol("b", "2", here)}, want: bound()},
		"two nodes of one instance, of which one is another now": {
			maps: []corev1.ConfigMap{enrol("a", "1", here), enrol("b", "2", here)}, nodes: []corev1.Node{node("b", "3", "")}, want: bound()},
		"two nodes of two instances": {
			maps: []corev1.ConfigMap{enrol("a", "1", here), enrol("b", "2", there)}, nodes: []corev1.Node{node("b", "2", here)}, want: bound()},
	} {
		t.Run(name, func(t *testing.T) {
			a := node("a", "1", there)
			got, err := binding(stored(t, tc.maps, append(tc.nodes, a)).Bind(t.Context(), &a))
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff(tc.err, text); d != "" {
				t.Error(d)
			}
			var refused *config.Refused
			if (err != nil) != errors.As(err, &refused) {
				t.Errorf("not a refusal: %v", err)
			}
			if strings.Contains(text, there) {
				t.Error("the Node's own word was taken:", text)
			}
		})
	}
}

// TestEveryAgentHasADriver: a name in the table without one would be known and
// still refused.
func TestEveryAgentHasADriver(t *testing.T) {
	for agent, driver := range agents {
		if _, ok := Drivers[driver]; !ok {
			t.Errorf("agent %s needs driver %s, which is not in this build", agent, driver)
		}
	}
	for name, kind := range Drivers {
		if kind.Name != name {
			t.Errorf("driver %s calls itself %s", name, kind.Name)
		}
	}
}

// TestTheDriversPage: every example of it binds a node of AWS.
func TestTheDriversPage(t *testing.T) {
	for _, maps := range examples(t, "../device/ec2/README.md") {
		a := node("a", "1", "")
		b, err := binding(stored(t, append(maps, enrol("a", "1", "aws:///eu-west-1a/"+instance)), nil).Bind(t.Context(), &a))
		if err != nil || b.Address != "ec2:eu-west-1/"+instance {
			t.Errorf("%v: %+v, %v", maps, b, err)
		}
	}
}

// read are ConfigMaps as they were read, by name@version.
func read(all ...string) []api.ConfigSource {
	var out []api.ConfigSource
	for _, s := range all {
		name, version, _ := strings.Cut(s, "@")
		out = append(out, api.ConfigSource{Kind: api.KindConfigMap, Name: name, ResourceVersion: version, Namespace: "ns"})
	}
	return out
}
