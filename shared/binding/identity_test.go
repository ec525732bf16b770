package binding

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/kube"
)

const (
	uuidA, swappedA = "00112233-4455-6677-8899-aabbccddeeff", "33221100-5544-7766-8899-aabbccddeeff"
	uuidB           = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
)

// TestAnIdentityThatIsNone: the identity of a node is its machine's alone, or the binding says
// why it is none, and a fence refuses each answer that names a machine (S11: the device is the node's own).
func TestAnIdentityThatIsNone(t *testing.T) {
	as := func(cm corev1.ConfigMap, kv ...string) corev1.ConfigMap {
		for i := 0; i < len(kv); i += 2 {
			cm.Data[kv[i]] = kv[i+1]
		}
		return cm
	}
	a := func(kv ...string) corev1.ConfigMap {
		return as(enrol("a", "1", ""), append([]string{"system_uuid", uuidA}, kv...)...)
	}
	b := func(kv ...string) corev1.ConfigMap {
		return as(enrol("b", "2", ""), append([]string{"system_uuid", uuidB}, kv...)...)
	}
	bmc := func(node, ip, more string) corev1.ConfigMap {
		return write("fence-config-node-"+node, "config.properties", "node_name="+node+"\npower_management=m", "fence-method-m", "agent_name=fence_ipmilan\nusername=u\nsecret=s\nip="+ip+more)
	}
	here := []corev1.Node{node("b", "2", "")}
	for name, tc := range map[string]struct {
		mine, theirs corev1.ConfigMap
		named, other string
		nodes        []corev1.Node
		machineID    string
		want         [3]string // identity, fault and error
	}{
		"its own":                                 {mine: a(), theirs: b(), nodes: here, want: [3]string{uuidA}},
		"a factory default":                       {mine: a("system_uuid", "03000200-0400-0500-0006-000700080009"), theirs: b(), nodes: here, want: [3]string{"03000200-0400-0500-0006-000700080009", "is a factory default that many machines have"}},
		"no UUID":                                 {mine: a("system_uuid", "SN-7"), theirs: b(), nodes: here, want: [3]string{"SN-7", "is no UUID"}},
		"the machine-id in disguise":              {mine: a(), theirs: b(), nodes: here, machineID: strings.ReplaceAll(uuidA, "-", ""), want: [3]string{uuidA, "is the node's machine-id, and no UUID of its firmware"}},
		"another node's too":                      {mine: a(), theirs: b("system_uuid", swappedA), nodes: here, want: [3]string{uuidA, "is what node b was enrolled as too"}},
		"another node's, enrolled by a person":    {mine: a(), theirs: b(kube.EnrolledIdentity, uuidA), nodes: here, want: [3]string{uuidA, "is what node b was enrolled as too"}},
		"of a node that is gone":                  {mine: a(), theirs: b("system_uuid", uuidA), want: [3]string{uuidA}},
		"of a node that is another by now":        {mine: a(), theirs: b("system_uuid", uuidA), nodes: []corev1.Node{node("b", "3", "")}, want: [3]string{uuidA}},
		"a node reports it that is not enrolled":  {mine: a(kube.EnrolledAlsoOf, "c"), theirs: b(), nodes: here, want: [3]string{uuidA, "is reported by node c too"}},
		"enrolled by a person":                    {mine: a("system_uuid", uuidB, kube.EnrolledAlsoOf, "b", kube.EnrolledIdentity, uuidA), theirs: b(), nodes: here, machineID: strings.ReplaceAll(uuidA, "-", ""), want: [3]string{uuidA}},
		"enrolled by a person, and another's too": {mine: a(kube.EnrolledIdentity, uuidB), theirs: b(), nodes: here, want: [3]string{uuidB, "is what node b was enrolled as too"}},
		"named by its method":                     {mine: a("system_uuid", "SN-7"), theirs: b(), nodes: here, named: "\nidentity=" + uuidA, want: [3]string{uuidA}},
		"named, and what another was enrolled as": {mine: a(), theirs: b(), nodes: here, named: "\nidentity=" + uuidB,
			want: [3]string{"", "", "node b was enrolled as machine " + uuidB + " (ConfigMap fence-enrolled-b), which identity= says is node a's; neither of them is fenced before one is mended"}},
		"named, and shared by what it was enrolled as": {mine: a(), theirs: b("system_uuid", uuidA), nodes: here, named: "\nidentity=" + uuidA,
			want: [3]string{"", "", "node b was enrolled as machine " + uuidA + " (ConfigMap fence-enrolled-b), which identity= says is node a's; neither of them is fenced before one is mended"}},
		"named as a node that is gone was":       {mine: a(), theirs: b(), named: "\nidentity=" + uuidB, want: [3]string{uuidB}},
		"another node's method names this one's": {mine: a(), theirs: b(), nodes: here, other: "\nidentity=" + swappedA, want: [3]string{"", "", "ConfigMap fence-config-node-b: node b has an identity= that is the machine of node a too (00112233445566778899aabbccddeeff); neither of them is fenced before one is mended"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := node("a", "1", "")
			n.Status.NodeInfo.MachineID = tc.machineID
			maps := []corev1.ConfigMap{tc.mine, tc.theirs, bmc("a", "10.0.0.1", tc.named), bmc("b", "10.0.0.2", tc.other)}
			bound, err := binding(stored(t, maps, append(tc.nodes, n)).Bind(t.Context(), &n))
			var got [3]string
			if bound != nil {
				got[0], got[1] = bound.Identity, bound.IdentityFault
			}
			if err != nil {
				got[2] = err.Error()
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAnotherNodeOfTheIdentityIsNoticed: what a check has kept holds no longer once another node
// has the identity, or the node's machine-id is that (S11).
func TestAnotherNodeOfTheIdentityIsNoticed(t *testing.T) {
	const bmc = "agent_name=fence_ipmilan\nusername=u\nsecret=s\nip="
	for name, change := range map[string]func(*world){
		"a node is enrolled as it": func(w *world) {
			n := node("b", "uid-b", "")
			w.nodes["b"] = &n
			cm := enrol("b", "uid-b", "")
			cm.Data["system_uuid"] = swappedA
			w.put(cm)
		},
		"a person enrols a node as it": func(w *world) {
			n := node("b", "uid-b", "")
			w.nodes["b"] = &n
			cm := enrol("b", "uid-b", "")
			cm.Data["system_uuid"], cm.Data[kube.EnrolledIdentity] = uuidB, uuidA
			w.put(cm)
		},
		"a node reports it": func(w *world) {
			cm := *w.maps["fence-enrolled-a"].DeepCopy()
			cm.Data[kube.EnrolledAlsoOf] = "b"
			w.put(cm)
		},
		"it is the machine-id": func(w *world) { w.nodes["a"].Status.NodeInfo.MachineID = uuidA },
		"a method names it": func(w *world) {
			w.put(write("fence-config-node-b", "config.properties", "node_name=b\npower_management=m", "fence-method-m", bmc+"10.0.0.2\nidentity="+uuidA))
		},
	} {
		w := newWorld(t)
		n := node("a", "uid-a", "")
		w.nodes["a"] = &n
		cm := enrol("a", "uid-a", "")
		cm.Data["system_uuid"] = uuidA
		w.put(cm)
		w.put(write("fence-config-node-a", "config.properties", "node_name=a\npower_management=m", "fence-method-m", bmc+"10.0.0.1"))
		w.seen()
		w.check("a")
		lists, was := w.lists, w.bind("a")
		if w.lists != lists {
			t.Errorf("%s: it was not kept", name)
		}
		change(w)
		w.seen()
		if got, want := w.bind("a"), w.without(func() string { return w.bind("a") }); got != want || got == was {
			t.Errorf("%s:\ngot  %s\nwant %s\nwas  %s", name, got, want, was)
		}
	}
}
