package v1alpha1

// ControlPlane says whether nodes of the control plane, and of etcd, may be fenced.
type ControlPlane struct {
	// fence says whether a control-plane node, or one of etcd alone
	// (node-role.kubernetes.io/etcd), may be fenced: Never, the default, or WithQuorum:
	// one at a time, and only while etcd keeps its quorum without it. Members whose Lease
	// stands still or whose own fence is open are not counted on.
	// +kubebuilder:default=Never
	// +optional
	Fence *ControlPlaneRule `json:"fence,omitempty"`
	// etcdNodeNames names at most 9 nodes on which etcd runs. It is added to what nodefence
	// observes: the static pods of namespace kube-system (label component=etcd), of which a healthy
	// one counts only on a node that is listed here or has a label that kubelets cannot write
	// (node-role.kubernetes.io/control-plane, master, etcd or controlplane), the members that
	// the pods' --initial-cluster names, and the other control-plane nodes. A member that is
	// observed and not listed here counts as unhealthy, and so does a listed name without a Ready
	// Node: a list that is out of date holds fences. The message of a held fence says which
	// member counts, and how it is known. While a member is not listed, or a listed name has no
	// Node, condition Accepted is False and names both lists. Unless set, etcd's members are what
	// is observed; where there is no such pod, list them all. --initial-cluster is as old as its
	// pod's manifest: it may lack a member whose Node is deleted, and may still name a member
	// that has left etcd. The list counts as it is now, also for a fence that is already held.
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	EtcdNodeNames []string `json:"etcdNodeNames,omitempty"`
	// nodeSelector chooses nodes that are of the control plane besides those that nodefence
	// knows by a label, or by a taint of the same name: node-role.kubernetes.io/control-plane,
	// master, etcd and controlplane, and node.kubernetes.io/microk8s-controlplane, or, under Never, by a
	// static pod of an API server or of etcd in namespace kube-system. It is for a
	// distribution with marks of its own. A selected node counts as one of the control plane for
	// every policy. {} selects every node.
	// +optional
	NodeSelector *LabelSelector `json:"nodeSelector,omitempty"`
}

// ControlPlaneRule says whether control-plane nodes may be fenced.
// +kubebuilder:validation:Enum=Never;WithQuorum
type ControlPlaneRule string

// The rules.
const (
	Never      ControlPlaneRule = "Never"
	WithQuorum ControlPlaneRule = "WithQuorum"
)
