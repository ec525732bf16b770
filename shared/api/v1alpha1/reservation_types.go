package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Reservation is one slot, bound to one fence.
type Reservation struct {
	// nodeName is the name of the node that is fenced.
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName"`
	// fenceUID is the UID of the NodeFence.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +required
	FenceUID types.UID `json:"fenceUID"`
	// fenceNumber is which fence of the node it is.
	// +required
	FenceNumber int64 `json:"fenceNumber"`
	// at is when the slot was reserved, by the API server's clock.
	// +required
	At Time `json:"at"`
	// countedBy are the limits that held for the node when it was reserved: they count
	// it also once its Node object is gone, or has other labels. There are two at most of
	// each of the 64 policies that a fence may have.
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	CountedBy []CountedBy `json:"countedBy,omitempty"`
	// fenceVersion is the NodeFence's resourceVersion by which the slot was reserved. Only
	// who has seen a later one knows that the slot is free again.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	FenceVersion string `json:"fenceVersion,omitempty"`
	// deviceCallTimeout is the longest that one call to a device may take in this fence, where
	// that is longer than 20s. The fence goes on with its slot for longer by the difference,
	// and the slot counts for longer by it.
	// +optional
	DeviceCallTimeout *metav1.Duration `json:"deviceCallTimeout,omitempty"`
}

// DryReservation is what a fence under a policy in mode DryRun would have reserved under Enforce.
type DryReservation struct {
	Reservation `json:",inline"`
	// drain says that the node would be drained first, and that the fence would have no slot yet.
	// +optional
	Drain bool `json:"drain,omitempty"`
}

// CountedBy is a policy by whose limits a reservation counts: over all its nodes, or with
// a topologyKey in a domain.
type CountedBy struct {
	// policy is the name of the FencePolicy.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Policy string `json:"policy"`
	// topologyKey is that of the policy's perDomain; empty where it counts over all nodes.
	// +kubebuilder:validation:MaxLength=316
	// +optional
	TopologyKey string `json:"topologyKey,omitempty"`
	// domain is the node's value of that label.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Domain string `json:"domain,omitempty"`
}

// UnderWay is one fence between its reservation and its end.
type UnderWay struct {
	// nodeName is the name of the node that is fenced.
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName"`
	// fenceUID is the UID of the NodeFence.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +required
	FenceUID types.UID `json:"fenceUID"`
	// fenceNumber is which fence of the node it is.
	// +required
	FenceNumber int64 `json:"fenceNumber"`
	// controlPlane says that the node was of the control plane, or of etcd, at some time since, or
	// that nobody knows.
	// +optional
	ControlPlane bool `json:"controlPlane,omitempty"`
	// budgets are the FenceBudgets that chose the node at some time since, 64 at most. Where
	// there were more, or nobody knows, it is "*", and the fence counts in every FenceBudget.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +optional
	Budgets []string `json:"budgets,omitempty"`
}
