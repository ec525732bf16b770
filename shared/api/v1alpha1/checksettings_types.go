package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ActivitySettings are a policy's activityChecks, with every default in its place.
type ActivitySettings struct {
	// checks are the witnesses that are asked in each round, besides the node's Lease.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +required
	Checks []CheckSettings `json:"checks"`
	// rounds is how many rounds are asked before a node that has not failed enough of them
	// counts as alive.
	// +required
	Rounds int32 `json:"rounds"`
	// failedRounds is how many failed rounds count as dead.
	// +required
	FailedRounds int32 `json:"failedRounds"`
	// interval is the time between two rounds, such as 1m0s.
	// +required
	Interval metav1.Duration `json:"interval"`
	// checkTimeout is how long one check may take, such as 1m0s; what has not answered by
	// then went wrong.
	// +required
	CheckTimeout metav1.Duration `json:"checkTimeout"`
	// recheckInterval is how long a living node is left alone before it is suspected again, and
	// how long the last failed round counts, such as 5m0s.
	// +required
	RecheckInterval metav1.Duration `json:"recheckInterval"`
	// aliveTimeout is how long the node may be unhealthy and alive, such as 1h0m0s; after
	// that onAliveTimeout decides.
	// +required
	AliveTimeout metav1.Duration `json:"aliveTimeout"`
	// onAliveTimeout says what happens to the node after aliveTimeout: RequireApproval holds its
	// fence for a person, Fence continues without one.
	// +required
	OnAliveTimeout AfterAlive `json:"onAliveTimeout"`
}

// CheckSettings are one witness.
type CheckSettings struct {
	// type is who is asked: Kubelet, Neighbors, Job or Device.
	// +required
	Type CheckType `json:"type"`
	// neighbors are the other nodes that are asked, with type Neighbors.
	// +optional
	Neighbors *NeighborsSettings `json:"neighbors,omitempty"`
	// job is the Job that is run, with type Job.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
}

// NeighborsSettings say how many other nodes are asked, and which.
type NeighborsSettings struct {
	// count is how many other nodes are asked.
	// +required
	Count int32 `json:"count"`
	// topologyKey is the node label that tells failure domains apart: no node that is
	// asked has the failed node's value of it.
	// +kubebuilder:validation:MaxLength=316
	// +required
	TopologyKey string `json:"topologyKey"`
}

// StorageSettings are a policy's storageCheck, with every default in its place.
type StorageSettings struct {
	// type says how the storage is asked: TCP connects to it, Job runs a Job.
	// +required
	Type StorageCheckType `json:"type"`
	// tcp says what to connect to, with type TCP.
	// +optional
	TCP *TCPCheck `json:"tcp,omitempty"`
	// job is the Job that is run, with type Job.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
	// timeout is how long one probe of the storage may take, such as 1m0s.
	// +required
	Timeout metav1.Duration `json:"timeout"`
	// validDuration is how long an answer of the storage counts, such as 30s.
	// +required
	ValidDuration metav1.Duration `json:"validDuration"`
}

// KdumpSettings are a policy's kdump, with every default in its place.
type KdumpSettings struct {
	// firstMessageTimeout is how long after the fence was opened nodefence waits for a first
	// message of a dump, such as 1m0s; with 0s it does not wait.
	// +required
	FirstMessageTimeout metav1.Duration `json:"firstMessageTimeout"`
	// quietDuration is how long after its last message a dump counts as ended, such as
	// 30s.
	// +required
	QuietDuration metav1.Duration `json:"quietDuration"`
	// timeout is how long nodefence waits for a dump in all, such as 15m0s; then the power is
	// cut.
	// +required
	Timeout metav1.Duration `json:"timeout"`
	// releasePodsWhileDumping says that pods may be force-deleted while the machine dumps
	// its memory.
	// +required
	ReleasePodsWhileDumping bool `json:"releasePodsWhileDumping"`
}
