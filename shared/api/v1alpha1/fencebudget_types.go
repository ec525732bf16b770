package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// FenceBudget keeps a set of nodes available: it bounds how many of them are disrupted at once,
// whatever policies select them. A policy's limits, in contrast, bound nodefence itself. Its
// status is for others to use too, such as tools that upgrade nodes.
//
// A fence does not make a dead node less available: with maxUnavailable: 1 and three dead nodes,
// these are fenced one at a time, as with a PodDisruptionBudget's AlwaysAllow. A healthy node
// whose fence somebody asks for must find room besides the dead ones.
//
// A budget with a field that a program does not know or can't read holds the nodes that it
// selects (PolicyNotUnderstood). If that field is the selector, it holds every node.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=fencing
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=NODES,type=integer,JSONPath=`.status.expectedNodes`
// +kubebuilder:printcolumn:name=AVAILABLE,type=integer,JSONPath=`.status.availableNodes`
// +kubebuilder:printcolumn:name=FENCING,type=integer,JSONPath=`.status.fencingNodes`
// +kubebuilder:printcolumn:name=ALLOWED,type=integer,JSONPath=`.status.disruptionsAllowed`
// +kubebuilder:printcolumn:name=ACCEPTED,type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name=AGE,type=date,JSONPath=`.metadata.creationTimestamp`
type FenceBudget struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what a person decides.
	// +required
	Spec FenceBudgetSpec `json:"spec"`
	// status is what nodefence found and did.
	// +optional
	// +structType=atomic
	Status FenceBudgetStatus `json:"status,omitzero"`

	NotUnderstood NotUnderstood `json:"-"`
}

// FenceBudgetSpec is what a person decides.
// +kubebuilder:validation:XValidation:rule="has(self.maxUnavailable) != has(self.minAvailable)",message="set one of maxUnavailable and minAvailable"
type FenceBudgetSpec struct {
	// selector chooses nodes by label. {} is every node, and must be written.
	// +required
	Selector *LabelSelector `json:"selector,omitempty"`
	// maxUnavailable is the most nodes that may be unavailable: a number from 0 to 1000000, or a
	// percentage from 0% to 100%. A percentage is rounded down, but is at least one unless it is
	// 0%. With 0 and 0% no node of the set is fenced, not even a dead one.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 && int(self) <= 1000000 : string(self).matches('^(100|[0-9]{1,2})%$')",message="maxUnavailable must be a number of nodes from 0 to 1000000, or a percentage from 0% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// minAvailable is the fewest nodes that must stay available: a number from 0 to
	// 1000000, or a percentage from 0% to 100%, rounded up. Dead nodes of the set are
	// fenced one at a time even below it.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 && int(self) <= 1000000 : string(self).matches('^(100|[0-9]{1,2})%$')",message="minAvailable must be a number of nodes from 0 to 1000000, or a percentage from 0% to 100%"
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
}

// FenceBudgetStatus is the set as last seen.
type FenceBudgetStatus struct {
	// observedGeneration is the metadata.generation that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// observedAt is when this status last changed, by the API server's clock.
	// +optional
	ObservedAt *Time `json:"observedAt,omitempty"`
	// expectedNodes are the nodes that the selector chooses, and those that it chose while a
	// fence of theirs was under way that has not ended yet.
	// +optional
	ExpectedNodes int32 `json:"expectedNodes"`
	// availableNodes are those of them that are Ready, whose Leases move, and that have no fence
	// under way. A fence that waits for its slot does not count.
	// +optional
	AvailableNodes int32 `json:"availableNodes"`
	// fencingNodes are those with a fence between reservation and release.
	// +optional
	FencingNodes int32 `json:"fencingNodes"`
	// disruptionsAllowed is how many more available nodes may be made unavailable now.
	// +optional
	DisruptionsAllowed int32 `json:"disruptionsAllowed"`
	// conditions are Accepted, which is False while the selector can't be read, and
	// DisruptionAllowed.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FenceBudgetList is a list of FenceBudget.
// +kubebuilder:object:root=true
type FenceBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FenceBudget `json:"items"`
}
