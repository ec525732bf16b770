package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FencePolicyStatus is what nodefence reports about a policy.
type FencePolicyStatus struct {
	// observedGeneration is the metadata.generation that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// observedAt is when this status was last written, by the API server's clock: after each change of it, and
	// otherwise every 2 minutes, or every minute while nodes are missing.
	// +optional
	ObservedAt *Time `json:"observedAt,omitempty"`
	// effective says in sentences what holds on these nodes now: the limits as numbers, the
	// limits of other policies that hold besides, a cool-down, the pause window that is open.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Effective []string `json:"effective,omitempty"`
	// selectedNodes are those that the limits count: what the selector chooses, and what is
	// missing under the policy.
	// +optional
	SelectedNodes int32 `json:"selectedNodes"`
	// healthyNodes are those of them that the limits count as healthy.
	// +optional
	HealthyNodes int32 `json:"healthyNodes"`
	// unhealthyNodes are those of them that the limits count as unhealthy.
	// +optional
	UnhealthyNodes int32 `json:"unhealthyNodes"`
	// openFences are those of them with an open fence.
	// +optional
	OpenFences int32 `json:"openFences"`
	// fencesAllowed is how many fences may begin now, as far as this policy's limits go: what
	// maxConcurrent and maxRate leave, and no more than that in the domains without a storm. It
	// is 0 while FencingAllowed is False.
	// +optional
	FencesAllowed int32 `json:"fencesAllowed"`
	// stormSince is when the oldest storm began that is over this policy's nodes.
	// +optional
	StormSince *Time `json:"stormSince,omitempty"`
	// coolDownUntil is until when nothing begins after the last storm.
	// +optional
	CoolDownUntil *Time `json:"coolDownUntil,omitempty"`
	// domainsCount is how many domains there are; domains lists at most 64 of them.
	// +optional
	DomainsCount int32 `json:"domainsCount,omitempty"`
	// domains are the same figures for each value of limits.perDomain.topologyKey: at most 64.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Domains []DomainStatus `json:"domains,omitempty"`
	// heldCount is how many nodes are held; held lists at most 64 of them.
	// +optional
	HeldCount int32 `json:"heldCount"`
	// held are the nodes that are not being fenced although something is wrong
	// with them, or that can't be, and why: at most 64.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	Held []HeldNode `json:"held,omitempty"`
	// missingCount is how many are missing; missing lists at most 64 of them.
	// +optional
	MissingCount int32 `json:"missingCount,omitempty"`
	// missing are the expected nodes that have no Node object, and the Machines that have no
	// Node: at most 64.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Missing []MissingNode `json:"missing,omitempty"`
	// failedMachinesCount is how many Machines have failed; failedMachines lists at most 64 of
	// them.
	// +optional
	FailedMachinesCount int32 `json:"failedMachinesCount,omitempty"`
	// failedMachines are those that machines.selector chooses and that are in
	// phase Failed, or that somebody wants remediated: at most 64.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	FailedMachines []FailedMachine `json:"failedMachines,omitempty"`
	// lastDecisions are the latest decisions about its nodes' fences, one for each node, the
	// latest first: at most 10. The whole history is in the NodeFence.
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	LastDecisions []LastDecision `json:"lastDecisions,omitempty"`
	// conditions are Accepted, which is False while a selector or a window can't be read, another
	// policy has the same precedence, or controlPlane.etcdNodeNames lacks an observed member of
	// etcd or lists a name without a Node, FencingAllowed, and NodesPresent where nodes are
	// expected.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// LastDecision is what was decided last of a node.
type LastDecision struct {
	// nodeName is the name of the node that was decided about.
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName"`
	// at is when that was decided, by the API server's clock.
	// +required
	At Time `json:"at"`
	// phase is where the fence stood then.
	// +required
	Phase Phase `json:"phase"`
	// reason is the one word for it, of the closed list in infra/crd/REASONS.md.
	// +required
	Reason Reason `json:"reason"`
	// message says it in a sentence, with the numbers, for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// DomainStatus is how one domain of a policy stands.
type DomainStatus struct {
	// name is the domain's value of the topology key; empty for nodes without it.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// selectedNodes is how many of the policy's nodes are there.
	// +optional
	SelectedNodes int32 `json:"selectedNodes"`
	// unhealthyNodes are those of them that count as unhealthy.
	// +optional
	UnhealthyNodes int32 `json:"unhealthyNodes"`
	// message says whether a fence may begin there, with the numbers.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// HeldNode is a node that is not being fenced, and why.
type HeldNode struct {
	// nodeName is the name of the node.
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName"`
	// reason is the one word for why, of the closed list in infra/crd/REASONS.md.
	// +required
	Reason Reason `json:"reason"`
	// message says why in a sentence, with the numbers.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}
