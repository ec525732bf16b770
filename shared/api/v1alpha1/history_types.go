package v1alpha1

// HistoryEntry is one entry of a fence's history.
type HistoryEntry struct {
	// at is when that was, by the API server's clock.
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

// PastFence is a closed fence of this node.
type PastFence struct {
	// fenceNumber is the number of the node's fence.
	// +required
	FenceNumber int64 `json:"fenceNumber"`
	// openedAt is when the fence was opened, by the API server's clock.
	// +required
	OpenedAt Time `json:"openedAt"`
	// closedAt is when the fence was closed, by the API server's clock.
	// +required
	ClosedAt Time `json:"closedAt"`
	// outcome is the one word for how the fence ended, of the closed list in
	// infra/crd/REASONS.md.
	// +required
	Outcome Reason `json:"outcome"`
	// askedBy are the events that asked for it.
	// +kubebuilder:validation:MaxItems=17
	// +listType=map
	// +listMapKey=id
	// +listMapKey=source
	// +optional
	AskedBy []PastAskedBy `json:"askedBy,omitempty"`
	// cuts is how many times power was cut: 0, or 1 and one more for each restart after that.
	// +optional
	Cuts int32 `json:"cuts,omitempty"`
}
