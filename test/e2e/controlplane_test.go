package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestControlPlaneMarks: a control-plane node of a distribution whose marks differ from kubeadm's is
// never cut under controlPlane.fence Never, and the plan says by which mark it counts (S13).
func TestControlPlaneMarks(t *testing.T) {
	w := newWorld(t, 14, strings.Replace(quick, "50%", "100%", 1)+"controlPlane: {nodeSelector: {matchLabels: {example.com/role: plane}}}\n")
	marks := map[string]struct{ patch, mark string }{
		"node-1": {`{"metadata":{"labels":{"node-role.kubernetes.io/controlplane":"true"}}}`, "label node-role.kubernetes.io/controlplane"},
		"node-2": {`{"metadata":{"labels":{"node.kubernetes.io/microk8s-controlplane":"microk8s-controlplane"}}}`, "label node.kubernetes.io/microk8s-controlplane"},
		"node-3": {`{"spec":{"taints":[{"key":"node-role.kubernetes.io/control-plane","effect":"NoSchedule"}]}}`, "taint node-role.kubernetes.io/control-plane"},
		"node-4": {`{"metadata":{"labels":{"example.com/role":"plane"}}}`, "spec.controlPlane.nodeSelector of policy "},
	}
	for node, m := range marks {
		w.patch(node, m.patch)
	}
	w.staticPod("etcd-node-5", "node-5")
	marks["node-5"] = struct{ patch, mark string }{mark: "static pod kube-system/etcd-node-5"}
	w.start(nil)
	for node, m := range marks {
		w.plan(1, node, "ControlPlaneNode", "the node counts as one by "+m.mark)
	}
	for node := range marks {
		w.node(node, "crash")
	}
	for node := range marks {
		w.untilFence(node, "the gate to say that it is of the control plane", func(f *api.NodeFence) bool {
			return f.Status.Reason == api.ControlPlaneNode && strings.Contains(f.Status.Message, marks[node].mark)
		})
	}
	w.node("node-6", "crash") // a worker is fenced beside them
	w.ended("node-6", api.Recovered)
	for node := range marks {
		w.words(node, "")
	}
}

// staticPod creates the mirror of a static pod of etcd on a node, as the node's kubelet does.
func (w *world) staticPod(name, node string) {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "kube-system", Labels: map[string]string{"tier": "control-plane", "component": "etcd"},
		Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"},
	}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "etcd", Image: "etcd"}}}}
	_, err := w.Kube.CoreV1().Pods(p.Namespace).Create(w.ctx, p, metav1.CreateOptions{})
	must(w.t, err)
}
