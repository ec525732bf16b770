package kube

import (
	"context"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// defaultLease is the kubelet's own: where a Lease does not say how long it is
// valid, it is this.
const defaultLease = 40 * time.Second

// LeaseMark is a Lease's renewTime as a mark that is compared with itself only (S30).
func LeaseMark(l *coordinationv1.Lease) string {
	if l.Spec.RenewTime == nil {
		return ""
	}
	return l.Spec.RenewTime.UTC().Format(time.RFC3339Nano)
}

// SlowestRenewal is the longest time between two renewals that a Lease is believed
// to have: with less than two in the node-monitor-grace-period (50 s) its node turns
// NotReady now and then without nodefence. A kubelet may write what it likes into its own
// Lease, and the longest renewal of all is what the whole cluster's fences wait for (S15).
const SlowestRenewal = 25 * time.Second

// LeaseRenewal is the time between two renewals: kubelets renew four times in
// a Lease's duration.
func LeaseRenewal(l *coordinationv1.Lease) time.Duration {
	return min(saidRenewal(l), SlowestRenewal)
}

// LeaseTooSlow is what a Lease says of its renewal where that is not believed.
func LeaseTooSlow(l *coordinationv1.Lease) (said time.Duration, is bool) {
	if said = saidRenewal(l); said > SlowestRenewal {
		return said, true
	}
	return 0, false
}

func saidRenewal(l *coordinationv1.Lease) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		return time.Duration(*s) * time.Second / 4
	}
	return defaultLease / 4
}

// LookNode sees the node and its Lease.
func (c *Client) LookNode(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error {
	if err := c.LookNodeOnly(ctx, f, seen); err != nil {
		return err
	}
	return c.LookLease(ctx, f, seen)
}

// LookNodeOnly is for where nothing is decided by the Lease.
func (c *Client) LookNodeOnly(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error {
	n, err := c.Node(ctx, f.Spec.NodeName)
	if err != nil {
		return err
	}
	if n != nil {
		seen.Node = NodeSeen(n, string(f.UID))
		seen.Node.OutOfService, seen.Node.OutOfServiceForeign = outOfService(n, f.OutOfServiceAs())
	}
	return nil
}

// LookLease sees the node's Lease.
func (c *Client) LookLease(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error {
	l, err := c.Lease(ctx, f.Spec.NodeName)
	if err != nil || l == nil {
		return err
	}
	seen.Lease = fence.Lease{Exists: true, Renewed: LeaseMark(l), Renewal: LeaseRenewal(l)}
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

// NodeSeen is what a decision needs of a node.
func NodeSeen(n *corev1.Node, fenceUID string) fence.Node {
	s := fence.Node{
		Exists: true, UID: n.UID, Version: n.ResourceVersion, BootID: bootID(n.Status.NodeInfo.BootID),
		Cordoned: n.Spec.Unschedulable, CordonOurs: CordonIsOurs(n.ManagedFields), Labels: n.Labels,
		ScaleDownOurs: len(ourScaleDownAnnotations(n.Annotations, n.ManagedFields)) > 0,
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
		n := NodeSeen(&nodes[i], "")
		all = append(all, admission.Node{
			Name: nodes[i].Name, UID: nodes[i].UID, Labels: nodes[i].Labels, Unhealthy: !n.Ready(), ControlPlane: n.ControlPlane,
			Excluded: n.Excluded, Deleting: n.Deleting,
		})
	}
	return all
}
