package v1alpha1

import "strings"

// ActivityChecks asks witnesses besides the API server whether a lost node is really dead. They
// are asked before anything is reserved or touched. The terms and numbers are those of
// CloudStack's Host HA.
//
// One round asks every check once. A round saw activity if a check saw activity, or if the node's
// Lease moved: one witness is enough to count a node as alive. A round failed if the Lease stood
// still and, besides, every check that could tell saw no activity: neither the Lease alone nor a
// check alone is enough to count a node as dead. A round in which a check went wrong counts as
// neither; it is recorded and repeated.
//
// A fence that an event asked for, or that a person approved or confirmed, is not checked:
// somebody has already answered the question.
//
// +kubebuilder:validation:XValidation:rule="self.failedRounds <= self.rounds",message="activityChecks.failedRounds (8 unless set) must not be more than activityChecks.rounds (10 unless set), or no node would ever count as dead: lower failedRounds, or raise rounds"
// +kubebuilder:validation:XValidation:rule="[self.recheckInterval, self.aliveTimeout].exists(d, !d.matches('^([0-9]{1,5}(h|m|s)){1,3}$')) || duration(self.recheckInterval) <= duration(self.aliveTimeout)",message="activityChecks.recheckInterval (5m unless set) must not be longer than activityChecks.aliveTimeout (1h unless set), or no node would be checked again: shorten recheckInterval, or lengthen aliveTimeout"
type ActivityChecks struct {
	// checks are the witnesses, 1 to 4. The node's Lease is always one witness more.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.filter(c, c.type == 'Device').size() <= 1",message="activityChecks.checks has type Device twice, and a node has one device: write that type once"
	// +listType=atomic
	// +required
	Checks []ActivityCheck `json:"checks,omitempty"`
	// rounds is how many rounds are asked before a node that has not failed enough of
	// them counts as alive: 1 to 100, 10 unless set.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Rounds *int32 `json:"rounds,omitempty"`
	// failedRounds is how many failed rounds count as dead: 1 to 100, 8 unless set, and
	// not more than rounds, so that it must be set where rounds is less than 8.
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	FailedRounds *int32 `json:"failedRounds,omitempty"`
	// interval is the time between two rounds: 1s to 1h, 60s unless set.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="activityChecks.interval must be between 1s and 1h"
	// +optional
	Interval *Duration `json:"interval,omitempty"`
	// checkTimeout is how long one check may take; what has not answered by then went
	// wrong. 1s to 1h, 60s unless set.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="activityChecks.checkTimeout must be between 1s and 1h"
	// +optional
	CheckTimeout *Duration `json:"checkTimeout,omitempty"`
	// recheckInterval is how long a living node, which is DEGRADED, is left alone before it is
	// suspected again. It is also how long the last failed round counts: a fence that was held
	// for longer asks once more. 1s to 24h, and not longer than aliveTimeout; 5m unless set.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="activityChecks.recheckInterval must be between 1s and 24h"
	// +optional
	RecheckInterval *Duration `json:"recheckInterval,omitempty"`
	// aliveTimeout is how long a node may be unhealthy and alive; after that
	// onAliveTimeout decides. 1s to 168h, 1h unless set.
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="activityChecks.aliveTimeout must be between 1s and 168h"
	// +optional
	AliveTimeout *Duration `json:"aliveTimeout,omitempty"`
	// onAliveTimeout says what happens to a node that was unhealthy and alive for aliveTimeout.
	// RequireApproval, the default, holds its fence for a person. Fence continues without one.
	// +kubebuilder:default=RequireApproval
	// +optional
	OnAliveTimeout AfterAlive `json:"onAliveTimeout,omitempty"`
}

// AfterAlive says what happens to a node that was unhealthy and alive for too long.
// +kubebuilder:validation:Enum=Fence;RequireApproval
type AfterAlive string

// What may happen then.
const (
	AliveFence           AfterAlive = "Fence"
	AliveRequireApproval AfterAlive = "RequireApproval"
)

// ActivityCheck is one witness.
// +kubebuilder:validation:XValidation:rule="!has(self.neighbors) || self.type == 'Neighbors'",message="activityChecks.checks[].neighbors is for type Neighbors: set that type, or leave neighbors out"
// +kubebuilder:validation:XValidation:rule="has(self.job) == (self.type == 'Job')",message="activityChecks.checks[].job goes with type Job: write it for that type, and leave it out for any other"
type ActivityCheck struct {
	// type is who is asked: Kubelet, Neighbors, Job or Device.
	//
	// Kubelet connects to the node's kubelet from where nodefence runs, at the port that the Node
	// reports, or at NODEFENCE_KUBELET_PORT of the gate. An open port is activity, and so is a
	// connection that the machine itself refuses. No answer is no activity if the same port of
	// another Ready node answers. If that does not answer either, nodefence itself may be cut
	// off, and the check went wrong. The address is the one that the Node reports. The check also
	// goes wrong if that is no IP address, if it is loopback, link-local or multicast, and, with
	// NODEFENCE_NODE_NETWORKS (CIDRs, for the gate), if it is in none of these networks.
	//
	// Neighbors does the same from other nodes, in other failure domains. It runs short Jobs in
	// namespace nodefence-checks with the image NODEFENCE_NEIGHBORS_IMAGE of the gate, which the
	// manifests set. Job runs a Job of your own. Device reads the machine's power, or the
	// instance's state, from the device or cloud that is bound to the node. It needs action
	// Reboot or PowerOff.
	// +required
	Type CheckType `json:"type,omitempty"`
	// neighbors is for type Neighbors: three, in other zones, unless set.
	// +optional
	Neighbors *NeighborsCheck `json:"neighbors,omitempty"`
	// job is for type Job: exit code 0 means that the node is active, 1 that it is not, and any
	// other that the Job could not tell.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
}

// CheckType is a kind of witness.
// +kubebuilder:validation:Enum=Kubelet;Neighbors;Job;Device
type CheckType string

// The kinds of witness. CheckDevice counts for dead where the machine is off, stopped or
// terminated. A machine that is on or running counts for neither: activity means that the machine
// does something, and a machine whose kernel hangs is on too. If on counted as activity, no hung
// machine would ever be fenced; if it counted as no activity, every running machine would count
// as dead. So a machine that is on leaves the round to the other checks. If there are no others,
// the round is done and has not failed, and after all rounds the node is DEGRADED. The check went
// wrong if there is no answer, if the state is unknown or between on and off, or if the device
// answers for another machine. The device is asked last, by one read under all limits, and only
// where every other check saw nothing.
const (
	CheckKubelet   CheckType = "Kubelet"
	CheckNeighbors CheckType = "Neighbors"
	CheckJob       CheckType = "Job"
	CheckDevice    CheckType = "Device"
)

// NeighborsCheck connects to a kubelet from other nodes.
type NeighborsCheck struct {
	// count is how many neighbors are asked, each of them a different node: 1 to 5, 3 unless set.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +optional
	Count *int32 `json:"count,omitempty"`
	// topologyKey is the node label that tells failure domains apart, of at most 316 letters: no
	// neighbor has the failed node's value of it. If the failed node does not have the label, any
	// other node may be a neighbor. topology.kubernetes.io/zone unless set.
	// +kubebuilder:default="topology.kubernetes.io/zone"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +optional
	TopologyKey *string `json:"topologyKey,omitempty"`
}

// JobCheck is a Job of the user's own.
type JobCheck struct {
	// podTemplateName is the PodTemplate in namespace nodefence-checks that the Job is
	// made of: a name of at most 253 letters. It may mount file systems that several nodes
	// may mount at once, and never a block volume: others are refused. Its first container
	// decides; it gets NODEFENCE_NODE, NODEFENCE_ADDRESS and NODEFENCE_SINCE (when the
	// node was first suspected, or last checked, RFC 3339).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	PodTemplateName string `json:"podTemplateName,omitempty"`
}

// StorageCheck asks, before a fence begins, whether the storage is reachable: if it is
// unreachable for everyone, no fence makes anything better. Only the answer that it is
// unreachable holds fences. A probe that goes wrong is reported and holds nothing.
// +kubebuilder:validation:XValidation:rule="has(self.tcp) == (self.type == 'TCP')",message="storageCheck.tcp goes with type TCP: write it for that type, and leave it out for any other"
// +kubebuilder:validation:XValidation:rule="has(self.job) == (self.type == 'Job')",message="storageCheck.job goes with type Job: write it for that type, and leave it out for any other"
type StorageCheck struct {
	// type says how the storage is asked: TCP connects to it, Job runs a Job of your own.
	// +required
	Type StorageCheckType `json:"type,omitempty"`
	// tcp is for type TCP: it says what to connect to.
	// +optional
	TCP *TCPCheck `json:"tcp,omitempty"`
	// job is for type Job: exit code 0 means reachable, 1 unreachable for everyone.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
	// timeout is how long one probe may take: 1s to 1h, 60s unless set.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="storageCheck.timeout must be between 1s and 1h"
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`
	// validDuration is how long an answer counts: 1s to 1h, 30s unless set.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="storageCheck.validDuration must be between 1s and 1h"
	// +optional
	ValidDuration *Duration `json:"validDuration,omitempty"`
}

// StorageCheckType says how a storage is asked.
// +kubebuilder:validation:Enum=TCP;Job
type StorageCheckType string

// The ways to ask a storage.
const (
	StorageTCP StorageCheckType = "TCP"
	StorageJob StorageCheckType = "Job"
)

// TCPCheck connects to a service.
type TCPCheck struct {
	// address is the storage's host:port, such as 192.0.2.10:2049, reached from where
	// nodefence runs. Connected means reachable; refused or no answer, unreachable.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=262
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ ]+:[0-9]{1,5}$')",message="write storageCheck.tcp.address as host:port, such as 192.0.2.10:2049"
	// +required
	Address string `json:"address,omitempty"`
}

// Answer is what one check says.
// +kubebuilder:validation:Enum=Activity;None;Neither;Error
type Answer string

// The answers. An empty one means that there is no answer yet.
const (
	// AnswerActivity: the check saw the node, or what it asks about, alive.
	AnswerActivity Answer = "Activity"
	// AnswerNone: the check saw that there was no activity.
	AnswerNone Answer = "None"
	// AnswerNeither: the check could tell, and what it saw shows neither life nor death: the
	// machine is on.
	AnswerNeither Answer = "Neither"
	// AnswerError: the check could not tell.
	AnswerError Answer = "Error"
)

// CheckResult is one check of a round.
type CheckResult struct {
	// check names the check: its place in the policy, and its type.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Check string `json:"check"`
	// answer is Activity, None, Neither or Error; empty until there is one.
	// +optional
	Answer Answer `json:"answer,omitempty"`
	// message says it in a sentence, with the numbers, for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// CheckRound is the round of checks under way, or the last one.
type CheckRound struct {
	// number of the round. It is in the names of the round's Jobs, so that a late answer of
	// another round does not count.
	// +optional
	Number int32 `json:"number,omitempty"`
	// startedAt is when the round began, by the API server's clock.
	// +optional
	StartedAt *Time `json:"startedAt,omitempty"`
	// endedAt is when the last answer came; it is not set while the round is under way.
	// +optional
	EndedAt *Time `json:"endedAt,omitempty"`
	// since is what activity is compared with: the time of the suspicion, or the
	// end of the round before.
	// +optional
	Since *Time `json:"since,omitempty"`
	// results are the answers, one for each witness.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Results []CheckResult `json:"results,omitempty"`
}

// Answered tells whether all checks of the round have answered, or one saw activity, which is enough.
func (r *CheckRound) Answered() bool {
	missing := len(r.Results) == 0
	for _, is := range r.Results {
		if is.Answer == AnswerActivity {
			return true
		}
		missing = missing || is.Answer == ""
	}
	return !missing
}

// ActivityRecord is the result of the activity checks so far.
type ActivityRecord struct {
	CheckRound `json:",inline"`
	// done counts the rounds since the node was suspected, without those that went wrong.
	// +optional
	Done int32 `json:"done,omitempty"`
	// failed counts those of them in which no witness saw activity.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// errored counts the rounds in which a check went wrong: they count neither in done
	// nor in failed.
	// +optional
	Errored int32 `json:"errored,omitempty"`
	// failedAt is when a round last failed.
	// +optional
	FailedAt *Time `json:"failedAt,omitempty"`
	// degraded says that the node is unhealthy and alive; saw names the witness. The node is
	// suspected again after recheckInterval.
	// +optional
	Degraded bool `json:"degraded,omitempty"`
	// reading says that all other checks have answered, and the machine is being read.
	// +optional
	Reading bool `json:"reading,omitempty"`
	// saw is the witness that saw activity.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Saw string `json:"saw,omitempty"`
	// degradedSince is when the node was first seen alive, without having counted as dead since.
	// +optional
	DegradedSince *Time `json:"degradedSince,omitempty"`
}

// Unread is the check with this ending of its name that has not answered in the round under way, and
// whether all others have.
func (r *CheckRound) Unread(ending string) (check *CheckResult, last bool) {
	last = r.StartedAt != nil
	for i := range r.Results {
		switch c := &r.Results[i]; {
		case c.Answer != "":
		case strings.HasSuffix(c.Check, ending):
			check = c
		default:
			last = false
		}
	}
	return check, last && check != nil
}
