package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// FenceBudget bounds how many of any set of nodes are disrupted at once,
// whatever policies select them. Its status is for others to use too, such as
// tools that upgrade nodes.
//
// A node that is dead already is not made less available by its fence: dead nodes
// of the set are fenced maxUnavailable at a time, until all are served. A healthy
// node, whose fence somebody asks for, must find room beside the dead ones.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=nodefence
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=NODES,type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name=AVAILABLE,type=integer,JSONPath=`.status.available`
// +kubebuilder:printcolumn:name=FENCING,type=integer,JSONPath=`.status.fencing`
// +kubebuilder:printcolumn:name=ALLOWED,type=integer,JSONPath=`.status.allowed`
// +kubebuilder:printcolumn:name=AGE,type=date,JSONPath=`.metadata.creationTimestamp`
type FenceBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec FenceBudgetSpec `json:"spec"`
	// +optional
	Status FenceBudgetStatus `json:"status,omitzero"`
}

// FenceBudgetSpec is what a person decides.
// +kubebuilder:validation:XValidation:rule="has(self.maxUnavailable) != has(self.minAvailable)",message="set one of maxUnavailable and minAvailable"
type FenceBudgetSpec struct {
	// Selector chooses nodes by label. Empty selects all.
	// +optional
	Selector *LabelSelector `json:"selector,omitempty"`
	// MaxUnavailable is the most nodes, number or percent (rounded down, never
	// below one), that may be unavailable.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 1 && int(self) <= 1000000 : string(self).matches('^(100|[0-9]{1,2})%$')",message="must be a number of nodes from 1 to 1000000, or a percentage from 0% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// MinAvailable is the fewest nodes, number or percent (rounded up), that must
	// stay available.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 && int(self) <= 1000000 : string(self).matches('^(100|[0-9]{1,2})%$')",message="must be a number of nodes from 0 to 1000000, or a percentage from 0% to 100%"
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
}

// FenceBudgetStatus is the set as last seen.
type FenceBudgetStatus struct {
	// Nodes that the selector chooses, or chose when a fence of theirs that has not ended
	// was under way already; Available of them are Ready, their Leases move, and no fence
	// of theirs is under way. One that waits for its slot takes nothing.
	// +optional
	Nodes int32 `json:"nodes"`
	// +optional
	Available int32 `json:"available"`
	// Fencing are those with a fence between reservation and release.
	// +optional
	Fencing int32 `json:"fencing"`
	// Allowed is how many more available nodes may be made unavailable now.
	// +optional
	Allowed int32 `json:"allowed"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	ObservedAt *Time `json:"observedAt,omitempty"`
}

// FenceBudgetList is a list of FenceBudget.
// +kubebuilder:object:root=true
type FenceBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FenceBudget `json:"items"`
}
