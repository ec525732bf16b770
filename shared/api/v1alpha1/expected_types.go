package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExpectedNodes are nodes that must be there.
//
// A Node object that is missing says nothing of its machine: it may be off, or run on
// with all its pods, which Kubernetes deletes forty seconds after the Node without
// asking anybody. So a fence of it switches the machine off, if its own enrolment
// says which one that is, and on again where the action is Reboot. Nothing is
// released by it: there is no Node that the pods and volumes could be checked
// against.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.deleteMachines) && self.deleteMachines) || has(self.machineSelector)",message="deleteMachines needs machineSelector"
// +kubebuilder:validation:XValidation:rule="has(self.nodes) || has(self.machineSelector)",message="expected needs nodes, machineSelector, or both"
type ExpectedNodes struct {
	// Nodes by name.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Nodes []string `json:"nodes,omitempty"`
	// MachineSelector chooses, by label, Machines of machine.openshift.io or
	// cluster.x-k8s.io, whose nodes are expected. Empty selects all. A cluster that has
	// neither kind has no Machines. The node of a Machine in phase Failed, or with the
	// annotation cluster.x-k8s.io/remediate-machine, is unhealthy at once, whatever its
	// conditions say; a Machine that replaces one that was fenced for that waits, from
	// ten minutes, doubling, to two hours. One with the annotation
	// cluster.x-k8s.io/skip-remediation or cluster.x-k8s.io/paused is left alone.
	// +optional
	MachineSelector *LabelSelector `json:"machineSelector,omitempty"`
	// DeleteMachines deletes a Machine that has no node, once it is older than
	// missingFor, or in phase Failed, or asked to be remediated, so that its owner makes
	// another one. Only one that is controlled by an owner, is not of the control plane
	// and whose name no Node has; limits, mode and back-off hold as for a node of the
	// Machine's name. Unless set, it is only told.
	// +optional
	DeleteMachines bool `json:"deleteMachines,omitempty"`
	// MissingFor is how long a Node object may be missing, by looks of half a minute,
	// and how old a Machine may grow without one.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1m') && self <= duration('24h')",message="missingFor must be between 1m and 24h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	MissingFor metav1.Duration `json:"missingFor,omitempty"`
}

// MissingNode is an expected node without a Node object.
type MissingNode struct {
	// Node is its name; empty for a Machine that no Node has come of yet.
	// +optional
	Node string `json:"node,omitempty"`
	// Machine is the namespace/name of the Machine that it is expected of, if it is.
	// +optional
	Machine string `json:"machine,omitempty"`
	// Since is when it was first seen to be missing, or when the Machine was created.
	Since Time `json:"since"`
}

// The trigger of a fence of a node whose Node object is missing. No node condition
// can have this status.
const (
	NodeCondition = "Node"
	NodeMissing   = "Missing"
)

// Missing tells whether this fence opened because there is no Node object.
func (t Trigger) Missing() bool {
	return t.Condition == NodeCondition && t.Status == NodeMissing
}
