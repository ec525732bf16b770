package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ActivitySettings are a policy's activityChecks, with every default in its place.
type ActivitySettings struct {
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	Checks []CheckSettings `json:"checks"`
	// Rounds are asked; of them FailedRounds count as dead.
	Rounds       int32 `json:"rounds"`
	FailedRounds int32 `json:"failedRounds"`
	// Interval lies between two rounds.
	Interval        metav1.Duration `json:"interval"`
	CheckTimeout    metav1.Duration `json:"checkTimeout"`
	RecheckInterval metav1.Duration `json:"recheckInterval"`
	AliveTimeout    metav1.Duration `json:"aliveTimeout"`
	OnAliveTimeout  AfterAlive      `json:"onAliveTimeout"`
}

// CheckSettings are one witness.
type CheckSettings struct {
	Type CheckType `json:"type"`
	// Neighbors is there with type Neighbors.
	// +optional
	Neighbors *NeighborsSettings `json:"neighbors,omitempty"`
	// Job is there with type Job.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
}

// NeighborsSettings say how many other nodes are asked, and which.
type NeighborsSettings struct {
	Count int32 `json:"count"`
	// +kubebuilder:validation:MaxLength=316
	TopologyKey string `json:"topologyKey"`
}

// StorageSettings are a policy's storageCheck, with every default in its place.
type StorageSettings struct {
	Type StorageCheckType `json:"type"`
	// +optional
	TCP *TCPCheck `json:"tcp,omitempty"`
	// +optional
	Job           *JobCheck       `json:"job,omitempty"`
	Timeout       metav1.Duration `json:"timeout"`
	ValidDuration metav1.Duration `json:"validDuration"`
}

// KdumpSettings are a policy's kdump, with every default in its place.
type KdumpSettings struct {
	FirstMessageTimeout     metav1.Duration `json:"firstMessageTimeout"`
	QuietDuration           metav1.Duration `json:"quietDuration"`
	Timeout                 metav1.Duration `json:"timeout"`
	ReleasePodsWhileDumping bool            `json:"releasePodsWhileDumping"`
}
