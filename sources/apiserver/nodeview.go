package apiserver

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
)

// nodeView is the part of a Node that is kept.
type nodeView struct {
	uid        string
	created    time.Time
	conditions map[string]condition
	systemUUID string
	providerID string
	// role is worker or control-plane.
	role string
	// marks are the fences whose isolation taint the node has or, if it is Ready, whose
	// out-of-service taint.
	marks []string
	// excluded says which label or taint of the node excludes it from fencing. labels are
	// matched by the selectors of policies.
	excluded string
	labels   map[string]string
}

type condition struct {
	status, reason string
	since          time.Time
}

func (v nodeView) ready() bool {
	return v.conditions[ready].status == string(corev1.ConditionTrue)
}

// counted is a node as the census counts it.
func (v nodeView) counted(name string) admission.Node {
	return admission.Node{Name: name, UID: types.UID(v.uid), Labels: v.labels, Unhealthy: !v.ready(), ControlPlane: v.role != kube.WorkerRole}
}

// countsAnew tells whether a node that is seen like this counts otherwise than before.
func (v nodeView) countsAnew(old *nodeView) bool {
	return old == nil || old.uid != v.uid || old.ready() != v.ready() || old.role != v.role || !maps.Equal(old.labels, v.labels)
}

func viewOf(n *corev1.Node) nodeView {
	v := nodeView{
		uid: string(n.UID), created: n.CreationTimestamp.Time, systemUUID: n.Status.NodeInfo.SystemUUID, providerID: n.Spec.ProviderID,
		conditions: map[string]condition{}, role: kube.WorkerRole, labels: n.Labels,
	}
	seen := look.NodeFrom(n, "")
	if v.excluded = seen.Excluded; seen.ControlPlane {
		v.role = "control-plane"
	}
	for _, c := range n.Status.Conditions {
		v.conditions[string(c.Type)] = condition{string(c.Status), c.Reason, c.LastTransitionTime.Time}
	}
	for _, t := range n.Spec.Taints {
		if t.Key == api.IsolationTaint {
			v.marks = append(v.marks, t.Value)
		}
	}
	// Function recover removes the out-of-service taint once the node is healthy, and not before.
	if by := n.Annotations[api.OutOfServiceBy]; by != "" && v.ready() && !slices.Contains(v.marks, by) {
		v.marks = append(v.marks, by)
	}
	return v
}

const ready = string(corev1.NodeReady)
