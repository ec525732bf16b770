package v1alpha1

// FenceConditions are the conditions of a NodeFence, in the order in which a fence that succeeds
// comes to them.
var FenceConditions = []string{ConditionAdmitted, ConditionIsolated, ConditionProvenOff, ConditionReleased, ConditionRecovered, ConditionSucceeded}

// The conditions of a NodeFence.
const (
	// ConditionAdmitted: the gate said yes, within all limits.
	ConditionAdmitted = "Admitted"
	// ConditionIsolated: nothing new is placed on the node.
	ConditionIsolated = "Isolated"
	// ConditionProvenOff: there is a proof on which work may be released.
	ConditionProvenOff = "ProvenOff"
	// ConditionReleased: the node's pods and volumes may start elsewhere.
	ConditionReleased = "Released"
	// ConditionRecovered: the node is back, and nothing of ours is left on it.
	ConditionRecovered = "Recovered"
	// ConditionSucceeded: the fence has come to its end; Unknown while it is under way.
	ConditionSucceeded = "Succeeded"
	// ConditionCutRefuted: the boot ID refutes a power cut of this node (status.refuted). It is there only while that
	// is so.
	ConditionCutRefuted = "CutRefuted"
)

// Views are the words of other systems for where a fence stands.
type Views struct {
	// nodeFencing is the Kubernetes node-fencing proposal's.
	// +optional
	NodeFencing NodeFencingView `json:"nodeFencing,omitzero"`
}

// NodeFencingView is the Kubernetes node-fencing proposal's view of a fence.
type NodeFencingView struct {
	// step is Isolation, Power-Management or Recovery.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Step string `json:"step,omitempty"`
	// status is New, Running, Done, Final or Error.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Status string `json:"status,omitempty"`
}
