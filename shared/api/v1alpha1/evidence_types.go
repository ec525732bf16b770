package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ActivityChecks asks other witnesses whether a node that the API server has
// lost is really dead, before anything is reserved or touched. The terms and
// numbers are those of CloudStack's Host HA.
//
// One round asks every check once. A round saw activity if any check did, or if
// the node's Lease moved: one witness is enough for alive. A round failed if the
// Lease stood still and, besides it, every check that could tell saw nothing:
// the Lease alone, or a check alone, is never enough for dead. A round in which a
// check went wrong is neither; it is recorded and repeated.
//
// What an event asked for, and what a person approved or confirmed, is not
// checked: somebody has answered already.
//
// +kubebuilder:validation:XValidation:rule="duration(self.recheck) <= duration(self.maxDegraded)",message="recheck must not be longer than maxDegraded: it would never be reached"
type ActivityChecks struct {
	// Checks are the witnesses.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.filter(c, has(c.device)).size() <= 1",message="a node has one device: check it once"
	// +listType=atomic
	Checks []ActivityCheck `json:"checks"`
	// Required is how many rounds are asked, and RatioPercent the share of them
	// that must be exceeded by failed ones for the node to count as dead: with 10
	// and 70 it is the 8th failed round.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Required int32 `json:"required,omitempty"`
	// +kubebuilder:default=70
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	// +optional
	RatioPercent int32 `json:"ratioPercent"`
	// Interval lies between two rounds.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('1h')",message="interval must be between 1s and 1h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`
	// Timeout bounds one check; what has not answered by then went wrong.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('1h')",message="timeout must be between 1s and 1h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	Timeout metav1.Duration `json:"timeout,omitempty"`
	// Recheck is how long a node is left DEGRADED before it is suspected anew,
	// and how long the last failed round speaks for the node's death: a fence that
	// was held for longer asks once more.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('24h')",message="recheck must be between 1s and 24h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	Recheck metav1.Duration `json:"recheck,omitempty"`
	// MaxDegraded is how long a node may be unhealthy and alive. After that Then
	// decides: Approve holds for a person, Fence goes on without one.
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('168h')",message="maxDegraded must be between 1s and 168h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	MaxDegraded metav1.Duration `json:"maxDegraded,omitempty"`
	// +kubebuilder:default=Approve
	// +optional
	Then AfterDegraded `json:"then,omitempty"`
}

// AfterDegraded is what becomes of a node that was DEGRADED for too long.
// +kubebuilder:validation:Enum=Fence;Approve
type AfterDegraded string

// The ways on.
const (
	DegradedFence   AfterDegraded = "Fence"
	DegradedApprove AfterDegraded = "Approve"
)

// ActivityCheck is one witness.
// +kubebuilder:validation:XValidation:rule="(has(self.kubeletPort) ? 1 : 0) + (has(self.neighbours) ? 1 : 0) + (has(self.job) ? 1 : 0) + (has(self.device) ? 1 : 0) == 1",message="a check is kubeletPort, neighbours, job or device: set exactly one"
type ActivityCheck struct {
	// KubeletPort connects to the node's kubelet from where nodefence runs. An
	// open port, and one that the machine itself refuses, is activity; no answer
	// is none, provided that the same port of another Ready node answers: else it
	// may be nodefence that is cut off, and the check went wrong. The address is what
	// the Node reports: one that is no IP address, or is loopback, link-local or of a
	// group, goes wrong too, and with NODEFENCE_NODE_NETWORKS (CIDRs, for the gate)
	// whatever is in none of them.
	// +optional
	KubeletPort *KubeletPortCheck `json:"kubeletPort,omitempty"`
	// Neighbours does the same from other nodes, in other failure domains, by
	// short Jobs in namespace nodefence-checks.
	// +optional
	Neighbours *NeighboursCheck `json:"neighbours,omitempty"`
	// Job is one of your own, made from a PodTemplate in namespace
	// nodefence-checks. Exit 0 says that the node is active, 1 that it is not,
	// anything else that it could not be told.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
	// Device reads the machine's power, or the instance's state, from the device or
	// cloud that is bound to the node.
	// +optional
	Device *DeviceCheck `json:"device,omitempty"`
}

// DeviceCheck is what the node's bound device says of its machine: a BMC, a PDU
// or a hypervisor the power, a cloud the state of the instance. It is asked by one
// read, under all limits, and last, where every other check saw nothing.
//
// Off, stopped or terminated is no activity: a witness for dead. On or running is
// neither. A health check may take power for health, but activity means that the
// machine does something, and one whose kernel hangs is on. Were that activity, no
// hung machine would ever be fenced; were it none, each running one would count
// as dead. So a machine that is on leaves the round to the other checks; where
// there are none the round is done and has not failed, and after all required ones
// the node is DEGRADED. No answer, an unknown state, one on the way between
// the two, and a device that answers for another machine are the check gone wrong.
type DeviceCheck struct{}

// KubeletPortCheck connects to a kubelet.
type KubeletPortCheck struct {
	// Port, unless it is the one that the Node reports of itself, or 10250.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
}

// NeighboursCheck connects to a kubelet from other nodes.
type NeighboursCheck struct {
	// Count of neighbours, each another node.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +optional
	Count int32 `json:"count,omitempty"`
	// TopologyKey is the node label that tells failure domains apart: no
	// neighbour has the failed node's value of it. If the failed node has none, the
	// neighbours are any other nodes.
	// +kubebuilder:default="topology.kubernetes.io/zone"
	// +kubebuilder:validation:MaxLength=316
	// +optional
	TopologyKey string `json:"topologyKey,omitempty"`
	// Image is nodefence's own, whose program has the subcommand `reach`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`
	// Port as in kubeletPort.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
}

// JobCheck is a Job of the user's own.
type JobCheck struct {
	// PodTemplate in namespace nodefence-checks. It may mount file systems that
	// several nodes may mount at once, and never a block volume: others are
	// refused. Its first container decides; it gets NODEFENCE_NODE,
	// NODEFENCE_ADDRESS and NODEFENCE_SINCE (when the node was first suspected, or
	// last checked, RFC 3339).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PodTemplate string `json:"podTemplate"`
}

// StorageHold is a question about the storage, asked before a fence begins: if
// it is unreachable for everyone, no fence makes anything better. Only an answer
// that says so holds; a probe that goes wrong is told and does not.
// +kubebuilder:validation:XValidation:rule="has(self.tcp) != has(self.job)",message="a storage probe is tcp or job: set exactly one"
type StorageCheck struct {
	// TCP is the storage's host:port, reached from where nodefence runs. Connected
	// means reachable; refused or no answer, unreachable.
	// +kubebuilder:validation:Pattern=`^[^ ]+:[0-9]{1,5}$`
	// +kubebuilder:validation:MaxLength=262
	// +optional
	TCP string `json:"tcp,omitempty"`
	// Job as in activityChecks: exit 0 says reachable, 1 unreachable for everyone.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
	// Timeout bounds one probe.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('1h')",message="timeout must be between 1s and 1h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	Timeout metav1.Duration `json:"timeout,omitempty"`
	// Interval is how long an answer counts.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('1h')",message="interval must be between 1s and 1h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`
}

// Answer is what one check says.
// +kubebuilder:validation:Enum=Activity;None;Neither;Error
type Answer string

// The answers. None of them: not answered yet.
const (
	// AnswerActivity: the check saw the node, or what it asks about, alive.
	AnswerActivity Answer = "Activity"
	// AnswerNone: it saw that there was none.
	AnswerNone Answer = "None"
	// AnswerNeither: it could tell, and what it saw speaks neither for life nor for
	// death: a machine that is on.
	AnswerNeither Answer = "Neither"
	// AnswerError: it could not tell.
	AnswerError Answer = "Error"
)

// CheckResult is one check of a round.
type CheckResult struct {
	// Check names it: its place in the policy, and its kind.
	Check string `json:"check"`
	// Answer is empty until there is one.
	// +optional
	Answer Answer `json:"answer,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
}

// CheckRound is the round of checks under way, or the last one.
type CheckRound struct {
	// Number of the round, which names its Jobs: a late answer of another round
	// counts for nothing.
	// +optional
	Number int32 `json:"number,omitempty"`
	// StartedAt is set while the round is under way, EndedAt from its end.
	// +optional
	StartedAt *Time `json:"startedAt,omitempty"`
	// +optional
	EndedAt *Time `json:"endedAt,omitempty"`
	// Since is what activity is compared with: the time of the suspicion, or the
	// end of the round before.
	// +optional
	Since *Time `json:"since,omitempty"`
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Results []CheckResult `json:"results,omitempty"`
}

// ActivityRecord is what the second evidence has come to.
type ActivityRecord struct {
	CheckRound `json:",inline"`
	// Done, Failed, Errored: rounds since the node was suspected. Errored ones
	// are not among those done.
	// +optional
	Done int32 `json:"done,omitempty"`
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// +optional
	Errored int32 `json:"errored,omitempty"`
	// FailedAt is when a round last failed.
	// +optional
	FailedAt *Time `json:"failedAt,omitempty"`
	// Degraded: unhealthy and alive; Saw is by what. Suspected anew after recheck.
	// +optional
	Degraded bool `json:"degraded,omitempty"`
	// Reading: all other checks have answered, and the machine is being read.
	// +optional
	Reading bool `json:"reading,omitempty"`
	// +optional
	Saw string `json:"saw,omitempty"`
	// DegradedSince is when it was first seen alive, and not taken for dead since.
	// +optional
	DegradedSince *Time `json:"degradedSince,omitempty"`
}
