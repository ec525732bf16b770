package e2e

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/functions/adopt/healthchecks"
	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/test/rig"
)

const managementGroup = "cluster.x-k8s.io/v1beta2"

// management is a second control plane, which has the Machines of the first one's nodes.
type management struct {
	*rig.Cluster
	machines, checks dynamic.ResourceInterface
}

// managed gives each node of the world a Machine in a management cluster. Another cluster's Machines
// are in the same namespace, and name nodes of the same names.
func (w *world) managed() *management {
	w.t.Helper()
	c := labs.ForTest(w.ctx, w.t, rig.LabOptions{Nodes: 1})
	crds, err := os.ReadFile("testdata/machinehealthcheck/v1beta2.yaml")
	must(w.t, err)
	must(w.t, c.Apply(w.ctx, string(crds)))
	_, err = c.Kube.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}}, metav1.CreateOptions{})
	must(w.t, err)
	dyn, err := dynamic.NewForConfig(c.Config)
	must(w.t, err)
	of := func(resource string) dynamic.ResourceInterface {
		return dyn.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: resource}).Namespace("clusters")
	}
	m := &management{c, of("machines"), of("machinehealthchecks")}
	w.until("both kinds to be served", func() (bool, error) {
		_, err := m.machines.List(w.ctx, metav1.ListOptions{})
		_, cerr := m.checks.List(w.ctx, metav1.ListOptions{})
		return err == nil && cerr == nil, nil
	})
	nodes, err := w.Kube.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	must(w.t, err)
	for _, n := range nodes.Items {
		_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, n.Name, types.MergePatchType, fmt.Appendf(nil,
			`{"metadata":{"annotations":{"cluster.x-k8s.io/cluster-namespace":"clusters","cluster.x-k8s.io/machine":"c-%s"}}}`, n.Name), metav1.PatchOptions{})
		must(w.t, err)
		for _, cluster := range []string{"c", "d"} {
			name := cluster + "-" + n.Name
			must(w.t, c.Apply(w.ctx, fmt.Sprintf("{apiVersion: %s, kind: Machine, metadata: {name: %s, namespace: clusters, labels: {pool: a, cluster.x-k8s.io/cluster-name: %s}}, spec: {clusterName: %[3]s}}", managementGroup, name, cluster)))
			m.status(w, name, fmt.Sprintf(`{"phase":"Running","nodeRef":{"name":%q}}`, n.Name))
		}
	}
	return m
}

func (m *management) status(w *world, machine, status string) {
	w.t.Helper()
	_, err := m.machines.Patch(w.ctx, machine, types.MergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
	must(w.t, err)
}

// TestMachinesOfAManagementCluster: a Machine that has failed in the management cluster has its node
// fenced here, and one of another cluster whose node has the same name has not. A node whose Machine is
// being deleted there is left to whoever deletes it.
func TestMachinesOfAManagementCluster(t *testing.T) {
	w := newWorld(t, 4, quick+"machines: {selector: {}}\n")
	m := w.managed()
	db := w.database(1)
	var rest []string
	for _, n := range []string{"node-0", "node-1", "node-2", "node-3"} {
		if n != db {
			rest = append(rest, n)
		}
	}
	other, going := rest[0], rest[1]
	p := w.start(func(o *local.Options) {
		o.Settings.MachinesKubeconfig, o.Settings.MachinesCluster = m.Lab.Kubeconfig, functions.ClusterObject{Namespace: "clusters", Name: "c"}
	})
	must(t, p.Watching(w.ctx))
	m.status(w, "d-"+other, `{"phase":"Failed"}`)
	_, err := m.machines.Patch(w.ctx, "c-"+going, types.MergePatchType, []byte(`{"metadata":{"finalizers":["test.example/wait"]}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, m.machines.Delete(w.ctx, "c-"+going, metav1.DeleteOptions{}))
	w.node(going, "crash")
	w.until("the fence of a node whose Machine is being deleted to wait", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, going)
		return err == nil && f != nil && f.Status.Reason == api.NodeBeingDeleted, err
	})
	m.status(w, "c-"+db, `{"phase":"Failed"}`)
	f := w.phase(db, api.Finished)
	w.moved("db-0", db)
	w.oneWriter()
	if x := f.Status.Decision.Trigger; !x.OfMachine() || x.Machine == nil || x.Machine.Name != "c-"+db || f.Status.Outcome != api.Recovered {
		t.Errorf("trigger %+v, outcome %s", x, f.Status.Outcome)
	}
	w.words(db, "off on")
	w.words(going, "")
	if f, err := w.Fences.Fence(w.ctx, other); f != nil || err != nil {
		t.Errorf("the node of another cluster's Machine: %+v %v", f, err)
	}
	w.words(other, "")
}

// TestMachineHealthCheckOfAManagementCluster: the object stands there, its policy and the labels here, and
// its status and Events are written there, with the rights of infra/knative/components/managementcluster.
func TestMachineHealthCheckOfAManagementCluster(t *testing.T) {
	w := newWorld(t, 2, quick)
	must(t, w.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/fencepolicies/default").Do(w.ctx).Error())
	m := w.managed()
	root, err := rig.Root()
	must(t, err)
	must(t, m.ApplyFile(w.ctx, filepath.Join(root, "infra/knative/components/managementcluster/there/rights.yaml")))
	account := rest.CopyConfig(m.Config)
	account.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:clusters:nodefence", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	client, err := kube.New(w.Config)
	must(t, err)
	must(t, client.ReadMachinesAt(account, types.NamespacedName{Namespace: "clusters", Name: "c"}))
	h := &healthchecks.Keeper{Function: "policystatus", Objects: client, Namespace: "nodefence-system", Namespaces: []string{"clusters"}, Now: func() time.Time { return client.Clock().Now().Add(3 * time.Minute) }, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	for _, cluster := range []string{"c", "d"} {
		must(t, m.Apply(w.ctx, fmt.Sprintf(`{apiVersion: %s, kind: MachineHealthCheck, metadata: {name: of-%s, namespace: clusters, labels: {cluster.x-k8s.io/watch-filter: nodefence}},
  spec: {clusterName: %[2]s, selector: {matchLabels: {pool: a}}, checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]}, remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 1}}}}`, managementGroup, cluster)))
	}
	c := &checks{world: w, apiVersion: managementGroup, namespace: "clusters", api: m.checks}
	c.keep = func() {
		if err := h.Keep(w.ctx); err != nil {
			t.Log(err) // until the rights are known
		}
	}
	c.untilItSays("of-c", "2 of 2, 1 more, RemediationAllowed True RemediationAllowed -")
	if c.policy("of-c") == nil || c.marked("of-c") != "node-0 node-1" {
		t.Errorf("policy %+v, labels on %q", c.policy("of-c"), c.marked("of-c"))
	}
	if got := c.says("of-d"); got != "- of -, - more" || c.policy("of-d") != nil {
		t.Errorf("that of another cluster: %s, %+v", got, c.policy("of-d"))
	}
	m.eventsThere(w, "of-c", "Adopted")
	m.eventsThere(w, "of-d", "")
	must(t, m.Apply(w.ctx, "{apiVersion: "+managementGroup+", kind: Cluster, metadata: {name: c, namespace: clusters}, spec: {paused: true}}"))
	w.until("its policy to be held while the Cluster is paused", func() (bool, error) { c.keep(); return c.held("of-c"), nil })
	if c.marked("of-c") != "node-0 node-1" {
		t.Errorf("labels on %q: another policy would decide for these nodes", c.marked("of-c"))
	}
	must(t, m.Apply(w.ctx, "{apiVersion: "+managementGroup+", kind: Cluster, metadata: {name: c, namespace: clusters}, spec: {paused: false}}"))
	w.until("its policy to be held no more", func() (bool, error) { c.keep(); return !c.held("of-c"), nil })
	may := func(resource, name string, del bool) error {
		as, err := dynamic.NewForConfig(account)
		must(t, err)
		i := as.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: resource}).Namespace("clusters")
		if del {
			return i.Delete(w.ctx, name, metav1.DeleteOptions{})
		}
		_, err = i.Create(w.ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": managementGroup, "kind": "Machine", "metadata": map[string]any{"name": name}, "spec": map[string]any{"clusterName": "c"}}}, metav1.CreateOptions{})
		return err
	}
	if err := may("machines", "c-node-0", true); err != nil { // power does it, where policies have Machines be deleted
		t.Error(err)
	}
	if may("machines", "new", false) == nil || may("machinehealthchecks", "of-c", true) == nil {
		t.Error("the account may do more than it needs")
	}
}

// eventsThere checks the reason of the Events about a MachineHealthCheck.
func (m *management) eventsThere(w *world, name, want string) {
	w.t.Helper()
	all, err := m.Kube.CoreV1().Events("clusters").List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	must(w.t, err)
	got := ""
	for _, e := range all.Items {
		got += e.Reason
	}
	if got != want {
		w.t.Errorf("Events about %s: %q, want %q", name, got, want)
	}
}
