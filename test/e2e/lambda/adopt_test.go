package lambda

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/nodefence/nodefence/shared/adopt/far"
	"github.com/nodefence/nodefence/shared/adopt/mhc"
	"github.com/nodefence/nodefence/test/rig"
)

// objects and machines are the namespaces of what is adopted, which cluster/far and OpenShift have.
// leases is that of cluster/remediation.
const (
	objects  = "openshift-workload-availability"
	machines = "openshift-machine-api"
	leases   = "medik8s-leases"
)

// TestAdoptedObjectsAreAnswered: with the stack's parameters and the rights of cluster/far,
// cluster/machines, cluster/machinehealthcheck and cluster/remediation, a FenceAgentsRemediation has its
// node's instance stopped and started, says so, and takes all away with it. A MachineHealthCheck has its
// FencePolicy and its status. Without the rights to the Leases no fence would begin.
func TestAdoptedObjectsAreAnswered(t *testing.T) {
	w := newStack(t, 3, map[string]string{
		"AdoptKinds": "far,mhc", "AdoptNamespaces": objects, "HealthCheckNamespaces": machines, "RequestNamespaces": "nodefence-system," + objects, "RemediationLeases": leases,
	})
	cloud := w.cloud()
	w.kinds()
	w.deploy(1)
	w.source()
	w.enrolled(cloud)
	w.ticking()
	victim := w.database()
	w.applied(fmt.Sprintf(`{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %s}, spec: {agent: fence_aws, retrycount: 3, retryinterval: 1s,
		sharedparameters: {"--region": eu-central-1}, nodeparameters: {"--plug": {%[3]s: %[5]s}}}}`, far.GroupVersion, far.Kind, victim, objects, instance(victim)))
	w.until("the object to have its last word", func() (bool, error) {
		o, err := w.Fences.FAR(w.ctx, objects, victim)
		return err == nil && far.Ended(o), err
	})
	o, err := w.Fences.FAR(w.ctx, objects, victim)
	must(t, err)
	if !meta.IsStatusConditionTrue(o.Status.Conditions, "Succeeded") || !w.tainted(victim) {
		t.Errorf("it has ended, and its node is tainted: %v; %+v", w.tainted(victim), o.Status.Conditions)
	}
	w.moved(victim)
	w.fenced(cloud, victim)
	w.oneWriter()
	must(t, w.kind(far.Group, "v1alpha1", "fenceagentsremediations", objects).Delete(w.ctx, victim, metav1.DeleteOptions{}))
	w.until("the object to be gone, with its taint and its FenceRequest", func() (bool, error) {
		is, err := w.Fences.FAR(w.ctx, objects, victim)
		r, rerr := w.Fences.FenceRequest(w.ctx, objects, far.RequestName(o, victim))
		return err == nil && rerr == nil && is == nil && r == nil && !w.tainted(victim), nil
	})

	w.health()
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "forbidden") {
			t.Errorf("a right is missing: %s", line)
		}
	}
}

// health: a MachineHealthCheck of OpenShift's, whose controller was not there for a long time.
func (w *world) health() {
	w.t.Helper()
	seen := fmt.Appendf(nil, `{"data":{%q:"2026-01-02T03:04:05Z none"}}`, mhc.Leaders[0].Key())
	_, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Patch(w.ctx, "nodefence-adopt-leases", types.MergePatchType, seen, metav1.PatchOptions{})
	must(w.t, err)
	all, err := w.Lab.Machines()
	must(w.t, err)
	for node := range all {
		w.applied(fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: %s, namespace: %s, labels: {role: worker}}, spec: {providerID: "aws:///eu-central-1a/%s"}}`, node, machines, instance(node)))
		status := fmt.Appendf(nil, `{"status":{"phase":"Running","nodeRef":{"kind":"Node","name":%q}}}`, node)
		_, err := w.kind("machine.openshift.io", "v1beta1", "machines", machines).Patch(w.ctx, node, types.MergePatchType, status, metav1.PatchOptions{}, "status")
		must(w.t, err)
	}
	c := &mhc.Check{}
	c.APIVersion, c.Namespace, c.Name = "machine.openshift.io/v1beta1", machines, "workers"
	w.applied(fmt.Sprintf(`{apiVersion: %s, kind: MachineHealthCheck, metadata: {name: workers, namespace: %s}, spec: {selector: {matchLabels: {role: worker}}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}], maxUnhealthy: 40%%}}`, c.APIVersion, machines))
	w.until("its policy to select the nodes, and the object to count them", func() (bool, error) {
		p, err := w.Fences.Policy(w.ctx, c.PolicyName())
		if p == nil || err != nil {
			return false, err
		}
		o, err := w.kind("machine.openshift.io", "v1beta1", "machinehealthchecks", machines).Get(w.ctx, "workers", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		status, _ := o.Object["status"].(map[string]any)
		return int(p.Status.SelectedNodes) == len(all) && status["expectedMachines"] == int64(len(all)) && status["remediationsAllowed"] == int64(1), nil
	})
}

// kinds installs those of the others, and the rights that the stack's parameter needs.
func (w *world) kinds() {
	w.t.Helper()
	root, err := rig.Root()
	must(w.t, err)
	for _, name := range []string{objects, machines, leases} {
		_, err := w.Kube.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		must(w.t, err)
	}
	for _, file := range []string{
		"test/e2e/testdata/far/crds.yaml", "test/e2e/testdata/machine.yaml", "test/e2e/testdata/machinehealthcheck/openshift.yaml",
		"infra/aws/cluster/far/rights.yaml", "infra/aws/cluster/machines/rights.yaml", "infra/aws/cluster/machinehealthcheck/rights.yaml",
		"infra/aws/cluster/remediation/rights.yaml",
	} {
		must(w.t, w.ApplyFile(w.ctx, filepath.Join(root, file)))
	}
}

// applied applies an object as soon as its kind is served.
func (w *world) applied(text string) {
	w.t.Helper()
	var last error
	err := rig.Until(w.ctx, "the kind to be served", func() (bool, error) { last = w.Apply(w.ctx, text); return last == nil, nil })
	if err != nil {
		w.t.Fatalf("%v: %v", err, last)
	}
}

func (w *world) kind(group, version, resource, namespace string) dynamic.ResourceInterface {
	w.t.Helper()
	c, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	return c.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(namespace)
}

// tainted tells whether a node has the taint of FenceAgentsRemediations.
func (w *world) tainted(node string) bool {
	w.t.Helper()
	n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	must(w.t, err)
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == far.Taint })
}
