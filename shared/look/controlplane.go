package look

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// easingRoles are the labels of nodes of the control plane, or of etcd, that a kubelet cannot write:
// admission plugin NodeRestriction keeps kubelets from every label under node-role.kubernetes.io. A
// pod on a node with such a label may count as a healthy member of etcd, which eases a decision
// (S13: never etcd's quorum).
var easingRoles = []string{
	api.ControlPlaneLabel,                  // kubeadm, k3s, RKE2, Talos, OpenShift
	"node-role.kubernetes.io/master",       // kubeadm up to 1.23, k3s, OpenShift
	"node-role.kubernetes.io/etcd",         // k3s, RKE1 and RKE2: nodes on which etcd alone may run
	"node-role.kubernetes.io/controlplane", // RKE1
}

// protectingLabels are the labels of nodes whose loss may end the cluster. Anybody may write them: a
// label only protects the node from a cut (S13).
var protectingLabels = append(slices.Clone(easingRoles),
	"node.kubernetes.io/microk8s-controlplane", // MicroK8s; its kubelet writes the label
)

// markOfControlPlane says by which label or taint a node counts as one of the control plane; empty
// if by none. A taint counts under the key of any label: kubeadm, k3s and RKE2 set both, and a person
// may have taken the label away.
func markOfControlPlane(n *corev1.Node) string {
	for _, key := range protectingLabels {
		if _, has := n.Labels[key]; has {
			return "label " + key
		}
	}
	for _, t := range n.Spec.Taints {
		if slices.Contains(protectingLabels, t.Key) {
			return "taint " + t.Key
		}
	}
	return ""
}

// StaticPodsDecide tells whether a static pod of the control plane decides if the policy spares the
// node: the policy spares control-plane nodes, and nothing else marks this node as one.
func StaticPodsDecide(p api.ResolvedPolicy, n observed.Node) bool {
	return p.Spares(true) && !p.Spares(n.ControlPlane)
}

// WithStaticPods returns n, marked as a control-plane node if a static pod of an API server or of etcd
// is bound to the node of this name. Labels and taints come first. The pods are those of
// kube.Client.ControlPlanePods.
func WithStaticPods(n observed.Node, name string, pods []corev1.Pod) observed.Node {
	if n.ControlPlane {
		return n
	}
	for i := range pods {
		if p := &pods[i]; p.Spec.NodeName == name && isPlanePod(p) {
			n.ControlPlane, n.ControlPlaneMark = true, "static pod "+p.Namespace+"/"+p.Name
			return n
		}
	}
	return n
}

// isPlanePod tells whether a pod is the mirror of a static pod of an API server or of etcd. kubeadm and
// RKE2 name the program in the label component, Talos in k8s-app. A kubelet may create such a pod on
// its own node: the pod only protects the node from a cut (S13).
func isPlanePod(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; !mirror {
		return false
	}
	for _, key := range []string{"component", "k8s-app"} {
		if program := p.Labels[key]; program == "kube-apiserver" || program == "etcd" {
			return true
		}
	}
	return false
}

// mayEase tells whether a pod on this node may count as a healthy member of etcd: the node has a role
// that its kubelet cannot have written.
func mayEase(n *corev1.Node) bool {
	return slices.ContainsFunc(easingRoles, func(key string) bool { _, has := n.Labels[key]; return has })
}
