package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ActivitySettings are a policy's activityChecks, with every default in its place.
type ActivitySettings struct {
	// checks is what the policy says, or its default: see activityChecks.checks of
	// FencePolicy.spec.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +required
	Checks []CheckSettings `json:"checks"`
	// rounds is how many are asked; failedRounds of them count as dead.
	// +required
	Rounds int32 `json:"rounds"`
	// failedRounds is what the policy says, or its default: see
	// activityChecks.failedRounds of FencePolicy.spec.
	// +required
	FailedRounds int32 `json:"failedRounds"`
	// interval is the time between two rounds.
	// +required
	Interval metav1.Duration `json:"interval"`
	// checkTimeout is what the policy says, or its default: see
	// activityChecks.checkTimeout of FencePolicy.spec.
	// +required
	CheckTimeout metav1.Duration `json:"checkTimeout"`
	// recheckInterval is what the policy says, or its default: see
	// activityChecks.recheckInterval of FencePolicy.spec.
	// +required
	RecheckInterval metav1.Duration `json:"recheckInterval"`
	// aliveTimeout is what the policy says, or its default: see
	// activityChecks.aliveTimeout of FencePolicy.spec.
	// +required
	AliveTimeout metav1.Duration `json:"aliveTimeout"`
	// onAliveTimeout is what the policy says, or its default: see
	// activityChecks.onAliveTimeout of FencePolicy.spec.
	// +required
	OnAliveTimeout AfterAlive `json:"onAliveTimeout"`
}

// CheckSettings are one witness.
type CheckSettings struct {
	// type is what the policy says, or its default: see activityChecks.checks[].type of
	// FencePolicy.spec.
	// +required
	Type CheckType `json:"type"`
	// neighbors is there with type Neighbors.
	// +optional
	Neighbors *NeighborsSettings `json:"neighbors,omitempty"`
	// job is there with type Job.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
}

// NeighborsSettings say how many other nodes are asked, and which.
type NeighborsSettings struct {
	// count is what the policy says, or its default: see
	// activityChecks.checks[].neighbors.count of FencePolicy.spec.
	// +required
	Count int32 `json:"count"`
	// topologyKey is what the policy says, or its default: see
	// activityChecks.checks[].neighbors.topologyKey of FencePolicy.spec.
	// +kubebuilder:validation:MaxLength=316
	// +required
	TopologyKey string `json:"topologyKey"`
}

// StorageSettings are a policy's storageCheck, with every default in its place.
type StorageSettings struct {
	// type is what the policy says, or its default: see storageCheck.type of
	// FencePolicy.spec.
	// +required
	Type StorageCheckType `json:"type"`
	// tcp is what the policy says, or its default: see storageCheck.tcp of
	// FencePolicy.spec.
	// +optional
	TCP *TCPCheck `json:"tcp,omitempty"`
	// job is what the policy says, or its default: see storageCheck.job of
	// FencePolicy.spec.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
	// timeout is what the policy says, or its default: see storageCheck.timeout of
	// FencePolicy.spec.
	// +required
	Timeout metav1.Duration `json:"timeout"`
	// validDuration is what the policy says, or its default: see
	// storageCheck.validDuration of FencePolicy.spec.
	// +required
	ValidDuration metav1.Duration `json:"validDuration"`
}

// KdumpSettings are a policy's kdump, with every default in its place.
type KdumpSettings struct {
	// firstMessageTimeout is what the policy says, or its default: see
	// kdump.firstMessageTimeout of FencePolicy.spec.
	// +required
	FirstMessageTimeout metav1.Duration `json:"firstMessageTimeout"`
	// quietDuration is what the policy says, or its default: see kdump.quietDuration of
	// FencePolicy.spec.
	// +required
	QuietDuration metav1.Duration `json:"quietDuration"`
	// timeout is what the policy says, or its default: see kdump.timeout of
	// FencePolicy.spec.
	// +required
	Timeout metav1.Duration `json:"timeout"`
	// releasePodsWhileDumping is what the policy says, or its default: see
	// kdump.releasePodsWhileDumping of FencePolicy.spec.
	// +required
	ReleasePodsWhileDumping bool `json:"releasePodsWhileDumping"`
}
