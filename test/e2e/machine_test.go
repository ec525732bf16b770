package e2e

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/shared/device/machine"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/test/rig"
)

const machineNamespace = "openshift-machine-api"

// machines is our own Machine controller: it ends the instance of a Machine that is deleted, and
// only then removes its finalizer.
type machines struct {
	t     *testing.T
	api   dynamic.ResourceInterface
	cloud *ec2test.Cloud
}

func (m *machines) run(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := m.api.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			continue // the kind is not served yet
		}
		for e := range w.ResultChan() {
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok || e.Type == "DELETED" || o.GetDeletionTimestamp() == nil {
				continue
			}
			id := instanceOf(o)
			m.cloud.Terminate(id)
			m.cloud.Settle()
			o.SetFinalizers(nil)
			if _, err := m.api.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
				m.t.Log("Machine controller:", err)
			}
		}
	}
}

func instanceOf(o *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(o.Object, "spec", "providerID")
	return id[strings.LastIndex(id, "/")+1:]
}

// instances makes each machine of the lab an EC2 instance with a Machine.
func (w *world) instances() (*machines, string) {
	w.t.Helper()
	dyn, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	m := &machines{t: w.t, cloud: &ec2test.Cloud{}, api: dyn.Resource(schema.GroupVersionResource{
		Group: "machine.openshift.io", Version: "v1beta1", Resource: "machines",
	}).Namespace(machineNamespace)}
	crd, err := os.ReadFile("testdata/machine.yaml")
	must(w.t, err)
	must(w.t, w.Apply(w.ctx, string(crd)))
	_, err = w.Kube.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: machineNamespace}}, metav1.CreateOptions{})
	must(w.t, err)
	w.until("the kind to be served", func() (bool, error) {
		_, err := m.api.List(w.ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	set := w.machineSet(machineNamespace)
	return m, w.onCloud(m.cloud, func(node, provider string) {
		must(w.t, w.Apply(w.ctx, fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: %s, namespace: %s, finalizers: [machine.openshift.io/instance],
			ownerReferences: [%s]}, spec: {providerID: %q}}`, node, machineNamespace, set, provider)))
	})
}

// machineSet makes an owner of Machines, of a kind that the cluster's garbage collector finds, and returns
// a reference to it.
func (w *world) machineSet(namespace string) string {
	w.t.Helper()
	set, err := w.Kube.CoreV1().ConfigMaps(namespace).Create(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}, metav1.CreateOptions{})
	must(w.t, err)
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "name": "workers", "uid": %q, "controller": true}`, set.UID)
}

// onCloud makes each machine of the lab an EC2 instance, tells machine of which provider ID each node
// has, and returns where the cloud is.
func (w *world) onCloud(cloud *ec2test.Cloud, machine func(node, provider string)) string {
	w.t.Helper()
	all, err := w.Lab.Machines()
	must(w.t, err)
	nodes := map[string]string{}
	for node := range all {
		id := fmt.Sprintf("i-%017s", strings.TrimPrefix(node, "node-"))
		nodes[id] = node
		provider := "aws:///eu-central-1a/" + id
		cloud.Put(ec2test.Instance{ID: id, State: ec2test.Running, Zone: "eu-central-1a"})
		_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, node, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"providerID":%q}}`, provider), metav1.PatchOptions{})
		must(w.t, err)
		machine(node, provider)
	}
	cloud.OnStop = func(id string) {
		if err := w.Lab.Node(nodes[id], "power-loss"); err != nil {
			w.t.Errorf("end %s: %v", nodes[id], err)
		}
	}
	server := httptest.NewServer(cloud)
	w.t.Cleanup(server.Close)
	return server.URL
}

// TestDeleteMachine: a node's Machine is deleted, and its controller ends the instance. The
// node's work starts elsewhere only after the cloud says that the instance has ended.
func TestDeleteMachine(t *testing.T) {
	w := newWorld(t, 3, quick)
	m, endpoint := w.instances()
	db := w.database(1)
	method := "agent_name=machine\naction=off\nendpoint=" + endpoint + "\naccess_key=AKIAIOSFODNN7EXAMPLE\nsecret_key=none\n"
	own, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Get(w.ctx, "fence-config-node-"+db, metav1.GetOptions{})
	must(t, err)
	own.Data = map[string]string{
		"config.properties": "node_name=" + db + "\nisolation=mark-unschedulable\npower_management=end\nrecovery=mark-schedulable\n",
		"fence-method-end":  method,
	}
	_, err = w.Kube.CoreV1().ConfigMaps("nodefence-system").Update(w.ctx, own, metav1.UpdateOptions{})
	must(t, err)
	done := make(chan struct{})
	ctx, stop := context.WithCancel(w.ctx)
	t.Cleanup(func() { stop(); <-done })
	go func() { defer close(done); m.run(ctx) }()
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	w.until("the instance to be enrolled", func() (bool, error) {
		cm, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Get(w.ctx, kube.EnrolledName(db), metav1.GetOptions{})
		return err == nil && cm.Data["provider_id"] != "", nil
	})
	w.node(db, "crash")
	// NodeHealthCheck asks for it too, and must keep its object after the Node has gone.
	asked := w.admin("nodefence-system", db, nil)
	w.moved("db-0", db)
	w.oneWriter()
	w.until("the Machine to be gone, and no other", func() (bool, error) {
		_, err := m.api.Get(w.ctx, db, metav1.GetOptions{})
		all, lerr := m.api.List(w.ctx, metav1.ListOptions{})
		return apierrors.IsNotFound(err) && lerr == nil && len(all.Items) == 2, lerr
	})
	f := w.phase(db, api.Fenced, api.Recovering)
	said := w.lastWord(asked).Status.Conditions
	if !meta.IsStatusConditionTrue(said, "PermanentNodeDeletionExpected") || !meta.IsStatusConditionTrue(said, "Succeeded") {
		t.Errorf("the FenceRequest says %+v", said)
	}
	if b := f.Status.Decision.Power(0); b == nil || b.Driver != "machine" || !b.LeaveOff || f.Status.Power.OffAt == nil {
		t.Errorf("binding %+v, power %+v", b, f.Status.Power)
	}
	// As a Machine controller does at its end.
	must(t, w.Kube.CoreV1().Nodes().Delete(w.ctx, db, metav1.DeleteOptions{}))
	w.ended(db, api.NodeGone)
	w.words(db, "")
	w.endsWithTheComponentsRights(m, endpoint, map[string]string{"node-1": "node-2"}[db])
	for _, a := range m.cloud.Actions() {
		if a.Name != "DescribeInstances" {
			t.Errorf("EC2 was asked to %s %s", a.Name, a.Instance)
		}
	}
}

// endsWithTheComponentsRights ends one more machine as the account of power, by the driver
// itself, without a fence.
func (w *world) endsWithTheComponentsRights(m *machines, endpoint, node string) {
	w.t.Helper()
	if node == "" {
		node = "node-1"
	}
	root, err := rig.Root()
	must(w.t, err)
	must(w.t, w.ApplyFile(w.ctx, root+"/infra/knative/components/machines/rights.yaml"))
	power := rest.CopyConfig(w.Config)
	power.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:nodefence-system:nodefence-power", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	client, err := kube.New(power)
	must(w.t, err)
	o, err := m.api.Get(w.ctx, node, metav1.GetOptions{})
	must(w.t, err)
	provider, _, _ := unstructured.NestedString(o.Object, "spec", "providerID")
	d, err := machine.Kind(client.ForDrivers(), ec2.Kind()).Open(map[string]string{
		"provider_id": provider, "endpoint": endpoint, "access_key": "AKIAIOSFODNN7EXAMPLE", "secret_key": "none",
	})
	must(w.t, err)
	w.until("the rights to be known", func() (bool, error) { return d.Off(w.ctx) == nil, nil })
	w.until("the instance to have ended", func() (bool, error) {
		r, err := d.State(w.ctx)
		return r.Power == device.Off, err
	})
}
