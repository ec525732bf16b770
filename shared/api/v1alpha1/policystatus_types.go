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
	// Failed are the Machines that expected.machineSelector chooses and that are in
	// phase Failed, or that somebody wants remediated: at most 64.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Failed []FailedMachine `json:"failed,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
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
