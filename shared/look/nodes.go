package look

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
)

// Node reads the node, for decisions that do not use the Lease.
func Node(ctx context.Context, c kube.Reader, f *api.NodeFence, seen *observed.Look) error {
	n, err := c.Node(ctx, f.Spec.NodeName)
	if err != nil {
		return err
	}
	if n != nil {
		seen.Node = NodeFrom(n, string(f.UID))
		withoutAborted(f, seen)
		seen.Node = WithoutSaidBefore(seen.Node, f)
		seen.Node.OutOfService, seen.Node.OutOfServiceForeign = outOfService(n, f.OutOfServiceAs())
	}
	return nil
}

// withoutAborted takes away the conditions for which a person has aborted an earlier fence, by the Lease too
// once that was read. They speak for no other fence, which has opened for something else.
func withoutAborted(f *api.NodeFence, seen *observed.Look) {
	lease := seen.Lease.Renewed
	if f.Status.CutOrReleased {
		lease = "" // a node that is silent after a cut has not come back
	}
	seen.Node.Conditions = slices.DeleteFunc(seen.Node.Conditions, func(c observed.Condition) bool {
		return f.AbortedBefore(seen.Node.UID, evidence(c), lease)
	})
}

// WithoutSaidBefore takes away the conditions that speak of the boot before the node's last cut: nobody has
// written them since the machine was proven off (S3, S26). A monitor that starts with the new boot writes
// them anew.
func WithoutSaidBefore(n observed.Node, f *api.NodeFence) observed.Node {
	if f != nil && f.Status.Decision.NodeUID == n.UID {
		n.Conditions = slices.DeleteFunc(slices.Clone(n.Conditions), func(c observed.Condition) bool {
			return f.Status.SaidBeforeBoot(c.Said())
		})
	}
	return n
}

// evidence is a condition as a fence's record has it.
func evidence(c observed.Condition) api.Evidence {
	return api.Evidence{Type: api.TriggerNodeCondition, Condition: c.Type, Status: c.Status, Mark: observed.StampOf(c.Since)}
}

// excludeLabel is medik8s' label for a node that no remediation may touch.
const excludeLabel = "remediation.medik8s.io/exclude-from-remediation"

// MaintenanceTaint is on a node that a person has put into maintenance by medik8s'
// NodeMaintenance.
const MaintenanceTaint = "medik8s.io/drain"

// deleters are the taints by which autoscalers mark a node that they are about to delete.
var deleters = map[string]string{
	"ToBeDeletedByClusterAutoscaler": "cluster-autoscaler",
	"karpenter.sh/disrupted":         "Karpenter",
	"karpenter.sh/disruption":        "Karpenter",
}

// NodeFrom converts a Node to what a decision needs.
func NodeFrom(n *corev1.Node, fenceUID string) observed.Node {
	s := observed.Node{
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
	s.Rebooting = tellReboot(n)
	s.ControlPlaneMark = markOfControlPlane(n)
	s.ControlPlane = s.ControlPlaneMark != ""
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
		if c.Type == corev1.NodeReady && !c.LastHeartbeatTime.IsZero() {
			s.Heartbeat = c.LastHeartbeatTime.UTC().Format(time.RFC3339)
		}
		s.Conditions = append(s.Conditions, observed.Condition{
			Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Since: c.LastTransitionTime.Time,
			Mark: c.LastTransitionTime.UTC().Format(time.RFC3339) + " " + c.LastHeartbeatTime.UTC().Format(time.RFC3339),
		})
	}
	return s
}

// outOfService reports whether the node has the out-of-service taint with this value, and
// whether it has one with another value. The other taint is somebody else's (S22: we take
// away only what we placed), and Kubernetes acts on it too.
func outOfService(n *corev1.Node, as api.OutOfServiceValue) (ours, foreign bool) {
	for _, t := range n.Spec.Taints {
		if t.Key == api.OutOfServiceTaint {
			ours, foreign = ours || t.Value == string(as), foreign || t.Value != string(as)
		}
	}
	return ours, foreign
}

// ClusterNodes converts all nodes to what counting needs.
func ClusterNodes(nodes []corev1.Node) []admission.Node {
	all := make([]admission.Node, 0, len(nodes))
	for i := range nodes {
		n := NodeFrom(&nodes[i], "")
		all = append(all, admission.Node{
			Name: nodes[i].Name, UID: nodes[i].UID, Labels: nodes[i].Labels, Unhealthy: !n.Ready(), ControlPlane: n.ControlPlane, Identity: policy.IdentityOf(&nodes[i]),
			Plans: n.Plans, NotReady: notReady(n),
		})
	}
	return all
}

// notReady is the node's condition Ready as evidence; nil if that is True, or not there.
func notReady(n observed.Node) *api.Evidence {
	for _, c := range n.Conditions {
		if c.Type == string(corev1.NodeReady) && !n.Ready() {
			return new(evidence(c))
		}
	}
	return nil
}
