package look

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
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

// mayEase tells whether a pod on this node may count as a healthy member of etcd: the node has a role
// that its kubelet cannot have written.
func mayEase(n *corev1.Node) bool {
	return slices.ContainsFunc(easingRoles, func(key string) bool { _, has := n.Labels[key]; return has })
}
