package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LeasePicture is what the source saw of the nodes' Leases.
type LeasePicture struct {
	// since is when this source began to watch: a picture that is younger than one renewal can't
	// show a failure yet.
	// +optional
	Since *Time `json:"since,omitempty"`
	// observedAt is when the source last looked. While the picture is older than 30s, nothing
	// begins.
	// +optional
	ObservedAt *Time `json:"observedAt,omitempty"`
	// renewal is the longest time between two renewals of any Lease watched, 25
	// seconds at most, whatever a node writes into its own.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Renewal metav1.Duration `json:"renewal,omitempty"`
	// total is how many Leases are watched.
	// +optional
	Total int32 `json:"total,omitempty"`
	// stillCount is how many Leases missed a renewal. still names at most 512 of them. With more,
	// nothing begins, because nobody knows whether a node that is not named is alive.
	// +optional
	StillCount int32 `json:"stillCount,omitempty"`
	// still are the Leases that missed a renewal, the first 512 of them by their nodes' names.
	// +kubebuilder:validation:MaxItems=512
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	Still []StillLease `json:"still,omitempty"`
}

// MaxStill bounds the Leases that a picture names.
const MaxStill = 512

// Cut tells whether more Leases stand still than the picture names.
func (p LeasePicture) Cut() bool { return int(p.StillCount) > len(p.Still) }

// StillLease is a Lease that missed a renewal.
type StillLease struct {
	// nodeName is the name of the node whose Lease it is.
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName"`
	// renewed is the renewTime at which it stands.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Renewed string `json:"renewed"`
	// since is when it was last seen to move, by the API server's clock.
	// +required
	Since Time `json:"since"`
	// stale says that two renewals were missed. Otherwise it was one: the node is suspect.
	// +optional
	Stale bool `json:"stale,omitempty"`
}

// Storm is more unhealthy nodes than a policy allows.
type Storm struct {
	// since is when the storm began, by the API server's clock.
	// +required
	Since Time `json:"since"`
	// policy is the name of the FencePolicy whose limit is exceeded.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Policy string `json:"policy"`
	// topologyKey is that of the policy's perDomain, where the storm is over one domain;
	// empty, the default, where it is over all nodes of the policy.
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=316
	// +optional
	TopologyKey string `json:"topologyKey,omitempty"`
	// domain is the value of topologyKey that the storm is over; empty, the default, where
	// it is over all nodes of the policy, or over those without the label.
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Domain string `json:"domain,omitempty"`
	// message says how many nodes are unhealthy, and how many may be.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message"`
	// coolDownUntil is set once it has ended: nothing begins before that.
	// +optional
	CoolDownUntil *Time `json:"coolDownUntil,omitempty"`
}
