package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FencePolicyStatus is what nodefence says of a policy.
type FencePolicyStatus struct {
	// ObservedGeneration is the spec that this is about; ObservedAt when.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	ObservedAt *Time `json:"observedAt,omitempty"`
	// Targets are the nodes that the selector chooses; Healthy and Unhealthy as
	// the limits count them; InRemediation those with an open fence.
	// +optional
	Targets int32 `json:"targets"`
	// +optional
	Healthy int32 `json:"healthy"`
	// +optional
	Unhealthy int32 `json:"unhealthy"`
	// +optional
	InRemediation int32 `json:"inRemediation"`
	// AllowedNow is how many fences may begin now, as far as this policy's limits go:
	// the room under maxConcurrent and rate, in all domains that no storm is over; 0
	// while RemediationAllowed is False.
	// +optional
	AllowedNow int32 `json:"allowedNow"`
	// StormSince is when the oldest storm began that is over this policy's nodes;
	// CoolDownUntil is until when nothing begins after the last one.
	// +optional
	StormSince *Time `json:"stormSince,omitempty"`
	// +optional
	CoolDownUntil *Time `json:"coolDownUntil,omitempty"`
	// Domains are the same figures for each value of limits.topologyKey.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Domains []DomainStatus `json:"domains,omitempty"`
	// Held are the nodes that are not being fenced although something is wrong
	// with them, or that can't be, and why: at most 64.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=node
	// +optional
	Held []HeldNode `json:"held,omitempty"`
	// Missing are the expected nodes that have no Node object, and the Machines that
	// no Node has come of: at most 64.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Missing []MissingNode `json:"missing,omitempty"`
	// FailedMachines are those that machines.selector chooses and that are in
	// phase Failed, or that somebody wants remediated: at most 64.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	FailedMachines []FailedMachine `json:"failedMachines,omitempty"`
	// LastDecisions are the latest sentences of the stories of its nodes' fences, one a
	// node, the latest first: at most 10. The whole story is in the NodeFence.
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=node
	// +optional
	LastDecisions []LastDecision `json:"lastDecisions,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// LastDecision is what was decided last of a node.
type LastDecision struct {
	Node   string `json:"node"`
	At     Time   `json:"at"`
	Phase  Phase  `json:"phase"`
	Reason Reason `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
}

// DomainStatus is how one domain of a policy stands.
type DomainStatus struct {
	Name string `json:"name"`
	// +optional
	Targets int32 `json:"targets"`
	// +optional
	Unhealthy int32 `json:"unhealthy"`
	// Message says whether a fence may begin there, with the numbers.
	// +optional
	Message string `json:"message,omitempty"`
}

// HeldNode is a node that is not being fenced, and why.
type HeldNode struct {
	Node   string `json:"node"`
	Reason Reason `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
}
