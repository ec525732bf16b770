package kube

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/policy"
)

// twoClusters are one cluster, and the one that has its Machines: there they are in namespace m, and are
// those of Cluster ours.
func twoClusters(t *testing.T) (here *fakeAPI, there *fakeAPI) {
	t.Helper()
	here, there = newFakeAPI(t), newFakeAPI(t)
	here.onRequest = func(r *http.Request) { t.Errorf("asked here for %s %s", r.Method, r.URL) }
	if err := here.ReadMachinesAt(there.config, types.NamespacedName{Namespace: "m", Name: "ours"}); err != nil {
		t.Fatal(err)
	}
	return here, there
}

// TestMachinesElsewhere: those of this cluster are read, written and deleted there. Those of another
// cluster, which has nodes of the same names, do not count (S11: never the wrong machine).
func TestMachinesElsewhere(t *testing.T) {
	const openshift, capi = "/apis/machine.openshift.io/v1beta1", "/apis/cluster.x-k8s.io/v1beta2"
	item := func(name, cluster string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":"m","name":%[1]q,"uid":%[1]q,"resourceVersion":"7"},"spec":{"clusterName":%[2]q},"status":{"nodeRef":{"name":"n"}}}`, name, cluster)
	}
	here, there := twoClusters(t)
	for path, text := range map[string]string{
		openshift + "/namespaces/m/machines":            `{"items":[` + item("o", "ours") + `]}`,
		capi + "/machines":                              `{"items":[` + item("all", "ours") + `]}`,
		capi + "/namespaces/m/machines":                 `{"items":[` + item("a", "ours") + `,` + item("b", "theirs") + `,` + item("c", "") + `]}`,
		capi + "/namespaces/m/machines/a":               item("a", "ours"),
		capi + "/namespaces/m/machines/b":               item("b", "theirs"),
		capi + "/namespaces/x/machines/a":               strings.Replace(item("a", "ours"), `"m"`, `"x"`, 1),
		openshift + "/namespaces/m/machinehealthchecks": `{"items":[{"metadata":{"name":"o"},"spec":{"clusterName":"ours"}}]}`,
		capi + "/namespaces/m/machinehealthchecks":      `{"items":[{"metadata":{"name":"h"},"spec":{"clusterName":"ours"}},{"metadata":{"name":"i"},"spec":{"clusterName":"theirs"}}]}`,
	} {
		there.set(path, text)
	}
	names := func(all []policy.Machine, err error) (words []string) {
		for _, m := range all {
			words = append(words, m.APIVersion+" "+m.Name)
		}
		if err != nil {
			words = append(words, err.Error())
		}
		return words
	}
	of := func(namespace, name string) string {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{capiNamespace: namespace, capiMachine: name, openshiftMachine: "m/o"}}}
		words := ""
		for _, ref := range MachinesOf(n) {
			m, err := here.MachineOf(t.Context(), ref)
			if err != nil {
				words += err.Error()
			}
			if m != nil {
				words += m.Namespace + "/" + m.Name
			}
		}
		return words
	}
	checks := ""
	for _, k := range here.MachineHealthChecks(t.Context()) {
		checks += fmt.Sprintf("%s %s %v;", k.APIVersion, k.Items, k.Err)
	}
	for what, x := range map[string]struct{ got, want string }{
		"all":                    {fmt.Sprint(names(here.Machines(t.Context()))), "[cluster.x-k8s.io/v1beta2 a]"},
		"Cluster API's":          {fmt.Sprint(names(here.MachinesIn(t.Context(), "cluster.x-k8s.io"))), "[cluster.x-k8s.io/v1beta2 a]"},
		"OpenShift's":            {fmt.Sprint(names(here.MachinesIn(t.Context(), "machine.openshift.io"))), "[]"},
		"a node's own":           {of("m", "a"), "m/a"},
		"one of another cluster": {of("m", "b"), ""},
		"one in another place":   {of("x", "a"), ""},
		"their checks":           {checks, ` [] <nil>;cluster.x-k8s.io/v1beta2 [{"metadata":{"name":"h"},"spec":{"clusterName":"ours"}}] <nil>;`},
	} {
		if x.got != x.want {
			t.Errorf("%s: %s, want %s", what, x.got, x.want)
		}
	}

	drivers := here.ForDrivers()
	if raw, err := drivers.Get(t.Context(), capi+"/machines"); err != nil || !strings.Contains(string(raw), `"uid":"a"`) {
		t.Errorf("a driver gets %s, %v", raw, err)
	}
	deleted := ""
	there.answer[capi+"/namespaces/m/machines/a"] = func(_ http.ResponseWriter, r request) { deleted += r.Method + " " + r.Path }
	for _, uid := range []types.UID{"a", "b", "o"} {
		if err := here.DeleteMachine(t.Context(), uid, func(*policy.Machine) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if err := drivers.Delete(t.Context(), capi+"/namespaces/m/machines/a", "a", "7"); err != nil {
		t.Error(err)
	}
	if one := "DELETE " + capi + "/namespaces/m/machines/a"; deleted != one+one {
		t.Errorf("deleted: %q", deleted)
	}
	if err := here.ReportAbout(t.Context(), corev1.ObjectReference{Namespace: "m", Name: "h"}, "policystatus", "h.1", "Adopted", "x", false); err != nil {
		t.Error(err)
	}
	there.set(capi+"/namespaces/m/machinehealthchecks/h", `{"metadata":{"name":"h","uid":"h"}}`)
	if err := here.SaveHealthCheckStatus(t.Context(), "cluster.x-k8s.io/v1beta2", metav1.ObjectMeta{Namespace: "m", Name: "h", UID: "h", ResourceVersion: fmt.Sprint(there.rv)}, map[string]any{"currentHealthy": 1}); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/api/v1/namespaces/m/events/h.1", capi + "/namespaces/m/machinehealthchecks/h"} {
		if there.text(path) == "" {
			t.Errorf("nothing was written at %s", path)
		}
	}
}

// TestMachinesElsewhereCanNotBeRead: whoever asks learns that it is another cluster that does not answer.
func TestMachinesElsewhereCanNotBeRead(t *testing.T) {
	here := newFakeAPI(t)
	if err := here.ReadMachinesAt(&rest.Config{Host: "http://127.0.0.1:1"}, types.NamespacedName{Namespace: "m", Name: "ours"}); err != nil {
		t.Fatal(err)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{capiNamespace: "m", capiMachine: "a"}}}
	for _, ref := range MachinesOf(n) {
		if _, err := here.MachineOf(t.Context(), ref); !errors.Is(err, ErrElsewhere) {
			t.Errorf("%s: %v", ref.Name, err)
		}
	}
	if _, err := here.Machines(t.Context()); err == nil {
		t.Error("no Machines, as if there were none")
	}
}

// TestMachinesOfAPausedCluster are left alone, and so are those of a Cluster of which nobody knows
// whether it is paused. OpenShift has no Clusters.
func TestMachinesOfAPausedCluster(t *testing.T) {
	const openshift, capi = "/apis/machine.openshift.io/v1beta1/machines", "/apis/cluster.x-k8s.io/v1beta2/"
	items := `{"items":[{"metadata":{"namespace":"m","name":"a"},"spec":{"clusterName":"c"}},{"metadata":{"namespace":"m","name":"b"},"spec":{"clusterName":"d"}},{"metadata":{"namespace":"n","name":"e"},"spec":{"clusterName":"c"}}]}`
	clusters := `{"items":[{"metadata":{"namespace":"m","name":"c"},"spec":{"paused":true}},{"metadata":{"namespace":"m","name":"d"},"spec":{"paused":false}},{"metadata":{"namespace":"n","name":"c"},"spec":{}}]}`
	for name, c := range map[string]struct {
		clusters string
		refused  int
		want     string
	}{
		"one is paused": {clusters: clusters, want: "o= a=its Cluster c is paused (spec.paused) b= e="},
		"no Clusters":   {want: "o= a= b= e="},
		"nobody knows":  {refused: http.StatusForbidden, want: "o= a=nobody knows whether its Cluster c is paused: b=nobody knows whether its Cluster d is paused: e=nobody knows whether its Cluster c is paused:"},
	} {
		f := newFakeAPI(t)
		f.set(openshift, `{"items":[{"metadata":{"namespace":"m","name":"o"},"spec":{}}]}`)
		f.set(capi+"machines", items)
		if c.clusters != "" {
			f.set(capi+"clusters", c.clusters)
		}
		if c.refused > 0 {
			f.answer[capi+"clusters"] = func(w http.ResponseWriter, _ request) { w.WriteHeader(c.refused) }
		}
		all, err := f.Machines(t.Context())
		var got []string
		for i := range all {
			words, _, more := strings.Cut(all[i].LeftAlone(), ": ")
			if more {
				words += ":"
			}
			got = append(got, all[i].Name+"="+words)
		}
		if words := strings.Join(got, " "); err != nil || words != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, words, c.want, err)
		}
	}
}
