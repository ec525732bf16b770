package kube

import (
	"strings"
	"testing"
)

// TestMachinesOfTheKindsThatThereAre: a cluster that has none has no Machines, and one
// that serves two versions of one kind has each Machine once.
func TestMachinesOfTheKindsThatThereAre(t *testing.T) {
	const openshift, capi2, capi1 = "/apis/machine.openshift.io/v1beta1/machines", "/apis/cluster.x-k8s.io/v1beta2/machines", "/apis/cluster.x-k8s.io/v1beta1/machines"
	of := func(name string) string {
		return `{"items":[{"metadata":{"name":"` + name + `"},"status":{"nodeRef":{"name":"n"}}}]}`
	}
	for name, c := range map[string]struct {
		served map[string]string
		want   string
	}{
		"neither":              {nil, ""},
		"OpenShift":            {map[string]string{openshift: of("o")}, "machine.openshift.io/v1beta1 Machine o n"},
		"an older Cluster API": {map[string]string{capi1: of("c1")}, "cluster.x-k8s.io/v1beta1 Machine c1 n"},
		"both versions":        {map[string]string{capi1: of("c1"), capi2: of("c2")}, "cluster.x-k8s.io/v1beta2 Machine c2 n"},
		"both kinds":           {map[string]string{openshift: of("o"), capi2: of("c2")}, "machine.openshift.io/v1beta1 Machine o n, cluster.x-k8s.io/v1beta2 Machine c2 n"},
	} {
		api := newFakeAPI(t)
		for path, text := range c.served {
			api.set(path, text)
		}
		all, err := api.Machines(t.Context())
		var got []string
		for _, m := range all {
			got = append(got, m.APIVersion+" "+m.Kind+" "+m.Name+" "+m.Status.NodeRef.Name)
		}
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v %v, want %s", name, got, err, c.want)
		}
	}
}
