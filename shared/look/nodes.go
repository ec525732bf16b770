package look

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// NodeAndLease sees the node and its Lease.
func NodeAndLease(ctx context.Context, c kube.Recent, f *api.NodeFence, seen *fence.Seen) error {
	if err := Node(ctx, c, f, seen); err != nil {
		return err
	}
	return Lease(ctx, c, f, seen)
}

// Node sees the node: it is for where nothing is decided by the Lease.
func Node(ctx context.Context, c kube.Recent, f *api.NodeFence, seen *fence.Seen) error {
	n, err := c.Node(ctx, f.Spec.NodeName)
	if err != nil {
		return err
	}
	if n != nil {
		seen.Node = NodeFrom(n, string(f.UID))
		seen.Node.OutOfService, seen.Node.OutOfServiceForeign = outOfService(n, f.OutOfServiceAs())
	}
	return nil
}

// excludeLabel is medik8s' word for a node that no remediation may touch.
const excludeLabel = "remediation.medik8s.io/exclude-from-remediation"

// MaintenanceTaint is on a node that a person has put into maintenance by medik8s'
// NodeMaintenance.
const MaintenanceTaint = "medik8s.io/drain"

// ofControlPlane are the labels of nodes on whose loss the cluster may end (S13); the
// last is that of nodes on which RKE2 and k3s run etcd and nothing else of it.
var ofControlPlane = []string{api.ControlPlaneLabel, "node-role.kubernetes.io/master", "node-role.kubernetes.io/etcd"}

// deleters are the taints by which autoscalers claim a node that they delete.
var deleters = map[string]string{
	"ToBeDeletedByClusterAutoscaler": "cluster-autoscaler",
	"karpenter.sh/disrupted":         "Karpenter",
	"karpenter.sh/disruption":        "Karpenter",
}

// NodeFrom is what a decision needs of a node.
func NodeFrom(n *corev1.Node, fenceUID string) fence.Node {
	s := fence.Node{
		Exists: true, UID: n.UID, Version: n.ResourceVersion, BootID: kube.BootID(n.Status.NodeInfo.BootID),
		Cordoned: n.Spec.Unschedulable, CordonOurs: kube.CordonIsOurs(n.ManagedFields), Labels: n.Labels,
		ScaleDownOurs: len(kube.OurScaleDownAnnotations(n.Annotations, n.ManagedFields)) > 0,
	}
	for _, v := range n.Status.VolumesInUse {
		s.VolumesInUse = append(s.VolumesInUse, string(v))
	}
	if n.Labels[excludeLabel] == "true" {
		s.Excluded = "the node has the label " + excludeLabel + "=true"
	}
	if n.DeletionTimestamp != nil {
		s.Deleting, s.Terminating = "the Node object is being deleted", true
	}
	for k := range n.Labels {
		s.ControlPlane = s.ControlPlane || slices.Contains(ofControlPlane, k)
	}
	for _, t := range n.Spec.Taints {
		switch {
		case t.Key == api.IsolationTaint && t.Value == fenceUID:
			s.Taint = true
		case t.Key == MaintenanceTaint:
			s.Excluded = "the node is in maintenance (taint " + MaintenanceTaint + ")"
		case deleters[t.Key] != "":
			s.Deleting = deleters[t.Key] + " is about to delete this node (taint " + t.Key + ")"
		}
	}
	for _, c := range n.Status.Conditions {
		s.Conditions = append(s.Conditions, fence.Condition{
			Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Since: c.LastTransitionTime.Time,
		})
	}
	return s
}

// outOfService tells whether the out-of-service taint of this value is on a node, or
// one of another value: that is by another hand (S22), and Kubernetes goes by it too.
func outOfService(n *corev1.Node, as api.OutOfServiceValue) (ours, foreign bool) {
	for _, t := range n.Spec.Taints {
		if t.Key == api.OutOfServiceTaint {
			ours, foreign = ours || t.Value == string(as), foreign || t.Value != string(as)
		}
	}
	return ours, foreign
}

// ClusterNodes is what counting needs of all nodes.
func ClusterNodes(nodes []corev1.Node) []admission.Node {
	all := make([]admission.Node, 0, len(nodes))
	for i := range nodes {
		n := NodeFrom(&nodes[i], "")
		all = append(all, admission.Node{
			Name: nodes[i].Name, UID: nodes[i].UID, Labels: nodes[i].Labels, Unhealthy: !n.Ready(), ControlPlane: n.ControlPlane,
			Excluded: n.Excluded, Deleting: n.Deleting,
		})
	}
	return all
}
