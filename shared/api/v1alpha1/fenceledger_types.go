package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FenceLedger is the one object, named "cluster", against which every gate counts, decides and
// reserves in a single compare-and-swap (S14). The programs may write its status and not its
// spec, which people write. One resourceVersion covers both, so that after a write to either all
// others look again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=fencing
// +kubebuilder:printcolumn:name=STOPPED,type=boolean,JSONPath=`.spec.stop`
// +kubebuilder:printcolumn:name=ACCEPTING,type=string,JSONPath=`.status.conditions[?(@.type=="AcceptingFences")].status`
// +kubebuilder:printcolumn:name=REASON,type=string,JSONPath=`.status.conditions[?(@.type=="AcceptingFences")].reason`
// +kubebuilder:printcolumn:name=RESTORED,type=date,JSONPath=`.status.restored.seenAt`
// +kubebuilder:printcolumn:name=CONFIRMED-BY,type=string,JSONPath=`.spec.restoreConfirmed.by`
// +kubebuilder:printcolumn:name=STORM-SINCE,type=date,JSONPath=`.status.storms[0].since`
// +kubebuilder:printcolumn:name=LEASES-SEEN,type=date,JSONPath=`.status.leases.observedAt`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'cluster'",message="there is one FenceLedger, named cluster"
type FenceLedger struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what a person decides.
	// +optional
	Spec FenceLedgerSpec `json:"spec,omitzero"`
	// status is what nodefence found and did.
	// +optional
	// +structType=atomic
	Status FenceLedgerStatus `json:"status,omitzero"`

	NotUnderstood NotUnderstood `json:"-"`
}

// FenceLedgerSpec is what a person sets.
type FenceLedgerSpec struct {
	// stop is the cluster-wide stop switch: while it is set, nothing new begins and no further
	// Off is sent. What was begun is proven, released and recovered. Off unless set.
	// +optional
	Stop bool `json:"stop,omitempty"`
	// stopReason says why, for those who read it later: at most 256 letters. It stops nothing by
	// itself.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	StopReason string `json:"stopReason,omitempty"`
	// stopChanged is who set or reset stop last, and when. kubectl fence writes it; a stop without it has no name
	// (FenceAct). It stops nothing by itself.
	// +optional
	StopChanged *BrakeChange `json:"stopChanged,omitempty"`
	// restoreConfirmed is a person's confirmation that nodefence may continue after the restore
	// that status.restored is about (S16).
	// +optional
	RestoreConfirmed *RestoreConfirmed `json:"restoreConfirmed,omitempty"`
	// coolDownEnded is a person's confirmation that nodefence need not wait for the cool-downs
	// that are under way after storms. A storm that is not over still holds fences.
	// +optional
	CoolDownEnded *CoolDownEnded `json:"coolDownEnded,omitempty"`
	// lost is a person's statement that nodes are lost, and not merely out of nodefence's sight. Their
	// Leases do not count where most Leases stand still (MostLeasesStale), and once a person has
	// confirmed of such a node that its machine is off, no storm holds the release of its work. All
	// other limits hold, and nothing is cut because of it.
	// +optional
	Lost *LostNodes `json:"lost,omitempty"`
	// checks bound the Jobs of activity checks and storage checks over the whole cluster.
	// +optional
	Checks *ChecksSpec `json:"checks,omitempty"`
	// reports bound the FenceReports, and the FenceActs likewise, by age and count. Unless set, each is kept
	// for 90 days, and at most 5000 of each kind are. The newest act of an object and a field has no age limit.
	// +optional
	Reports *ReportsSpec `json:"reports,omitempty"`
}

// LostNodes is one person's statement about nodes whose Leases stand still.
type LostNodes struct {
	// by is the authenticated user, in 1 to 256 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	By string `json:"by,omitempty"`
	// reason is why, for the history of the fences that continue because of it, in 1 to 256
	// letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Reason string `json:"reason,omitempty"`
	// until is when the statement ends. One that ends in more than 24 hours does not count yet.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	Until Time `json:"until,omitempty"`
	// nodes are the nodes that are lost: 1 to 512.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	// +listType=map
	// +listMapKey=nodeName
	// +required
	Nodes []LostNode `json:"nodes,omitempty"`
}

// LostNode is a node whose Lease stands still. The statement says nothing about it once the Lease moves.
type LostNode struct {
	// nodeName is the name of the node, in 1 to 253 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName,omitempty"`
	// renewed is status.leases.still[].renewed of the node's Lease, in 1 to 64 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Renewed string `json:"renewed,omitempty"`
}

// ChecksSpec bounds the Jobs of all checks.
type ChecksSpec struct {
	// concurrent is how many Jobs of activity checks and storage checks may run at the same time in
	// the whole cluster: 1 to 250, 25 unless set. Other fences wait (TooManyChecks), and the oldest
	// fence is next. A fence whose policy needs more Jobs for one round than this waits until the
	// number is raised. The ResourceQuota nodefence-checks in the namespace of the Jobs allows as many
	// pods: change both.
	// +kubebuilder:default=25
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=250
	// +optional
	Concurrent *int32 `json:"concurrent,omitempty"`
}

// ConcurrentChecks is how many Jobs of checks may run at the same time unless somebody sets it.
const ConcurrentChecks = 25

// CheckLimit returns how many Jobs of checks may run at the same time.
func (s FenceLedgerSpec) CheckLimit() int32 {
	if s.Checks == nil || s.Checks.Concurrent == nil {
		return ConcurrentChecks
	}
	return *s.Checks.Concurrent
}

// CoolDownEnded is about the cool-downs that it names by their ends, and about no other one: one of
// another storm, or of the same storm once it is back, holds fences.
type CoolDownEnded struct {
	// by is the authenticated user, in 1 to 256 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	By string `json:"by,omitempty"`
	// reason is why, for the history of the fences that continue because of it, in 1 to 256
	// letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Reason string `json:"reason,omitempty"`
	// until is status.storms[].coolDownUntil of the cool-down that is meant; that of the last one, if
	// several are.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	Until Time `json:"until,omitempty"`
	// alsoUntil are those of the other cool-downs that are meant: 255 at most.
	// +kubebuilder:validation:MaxItems=255
	// +kubebuilder:validation:items:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:items:Format=date-time
	// +kubebuilder:validation:items:Type=string
	// +listType=atomic
	// +optional
	AlsoUntil []Time `json:"alsoUntil,omitempty"`
}

// RestoreConfirmed is about one restore, and about no later one.
type RestoreConfirmed struct {
	// by is the authenticated user, in 1 to 256 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	By string `json:"by,omitempty"`
	// seenAt is status.restored.seenAt of the restore that is meant.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	SeenAt Time `json:"seenAt,omitempty"`
}

// FenceLedgerStatus is what nodefence keeps.
type FenceLedgerStatus struct {
	// reservations are the slots in use. A reservation whose fence is gone, closed or released
	// does not count, and the next write removes it. With 1024 of them every other fence is held
	// (TooManyConcurrent), so that this list, which takes 2048, is never full.
	// +kubebuilder:validation:MaxItems=2048
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	Reservations []Reservation `json:"reservations,omitempty"`
	// underWay are the fences between their reservation and their end, with all that their nodes
	// have counted for since: they still count when a Node object is gone, or has other labels.
	// With 2048 of them no other begins (TooManyConcurrent), so that this list, which takes 4096,
	// is never full.
	// +kubebuilder:validation:MaxItems=4096
	// +listType=atomic
	// +optional
	UnderWay []UnderWay `json:"underWay,omitempty"`
	// draining are the fences whose nodes drain, were let drain a moment ago, or have drained and wait
	// for a slot: limits.maxConcurrent bounds them as it does reservations. With 1024 of them no other node is drained, and its fence
	// waits (TooManyConcurrent), so that this list, which takes 2048, is never full.
	// +kubebuilder:validation:MaxItems=2048
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	Draining []Reservation `json:"draining,omitempty"`
	// dryRuns are the slots and the drains that fences under policies in mode DryRun would have under
	// Enforce. They count for such fences alone: no other fence waits for one of them, and nothing is done
	// for them. A dry run ends when its node has healed, its record is closed, or its policy has another
	// mode. With 1024 slots or 1024 drains in them and in the lists of real ones, every other dry run is
	// held (TooManyConcurrent).
	// +kubebuilder:validation:MaxItems=2048
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	DryRuns []DryReservation `json:"dryRuns,omitempty"`
	// checking are the rounds of checks whose Jobs may run now, 256 at most. spec.checks.concurrent
	// bounds their Jobs.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Checking []CheckingFence `json:"checking,omitempty"`
	// leases is the source's picture of Leases that stand still.
	// +optional
	Leases LeasePicture `json:"leases,omitzero"`
	// storms are the storms under way, and those whose cool-down is not over: 256 at most, over
	// all policies and their domains. With 256 of them no fence and no release begins anywhere
	// (TooManyUnhealthy).
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=policy
	// +listMapKey=topologyKey
	// +listMapKey=domain
	// +optional
	Storms []Storm `json:"storms,omitempty"`
	// admitted are the fences that began in the last 24 hours, for the policies' maxRate. The
	// list keeps at least the newest 1000 of each policy, so that no rate forgets what it counts,
	// and 2048 in all. If there would be more, those are removed first that no maxRate counts
	// now. If that is not enough, a fence is held (TooManyInATime). A maxRate that is raised or
	// lengthened after that counts only what is left.
	// +kubebuilder:validation:MaxItems=2048
	// +listType=atomic
	// +optional
	Admitted []Reservation `json:"admitted,omitempty"`
	// restored says when the API server's state was last seen to have gone back in time. Nothing
	// new starts until spec.restoreConfirmed names its seenAt.
	// +optional
	Restored *Restored `json:"restored,omitempty"`
	// checks are the nodes whose devices may be read for their FenceTargets now, 256 at most. The
	// source writes each turn before it asks for the check. Before it reserves a slot for a node
	// that has a turn, the gate looks whether the node's device is being read (S7).
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	Checks []NodeTurn `json:"checks,omitempty"`
	// conditions say, as Kubernetes' conditions do, what holds fences now, each with a reason and
	// a message.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// census is what the source has seen of all that is counted before a fence begins; none
	// where there is more than it can hold.
	// +optional
	Census *Census `json:"census,omitempty"`
	// configs is the version of the ConfigMaps that bind nodes to devices, as the source
	// sees them. None: nobody sees them, and each fence reads them.
	// +optional
	Configs *ConfigsSeen `json:"configs,omitempty"`
}

// ConfigsSeen is the version of all ConfigMaps of nodefence's namespace.
type ConfigsSeen struct {
	// version changes with every ConfigMap that is no enrolment, and with every enrolment
	// that may be of the same machine as another one. It follows from what the ConfigMaps
	// are, so that every source comes to the same.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Version string `json:"version"`
	// observedAt is when the source saw that, by the API server's clock. A version that is
	// older than 30s says nothing.
	// +required
	ObservedAt Time `json:"observedAt"`
}

// CheckingFence is a fence that may run the Jobs of one round of checks.
type CheckingFence struct {
	// nodeName is the name of the node that is checked.
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
	// jobs is how many Jobs the round has.
	// +required
	Jobs int32 `json:"jobs"`
	// at is when the Jobs were allowed, by the API server's clock.
	// +required
	At Time `json:"at"`
	// until is when the last of these Jobs has ended at the latest.
	// +required
	Until Time `json:"until"`
}

// NodeTurn is a node's turn to have its devices read.
type NodeTurn struct {
	// nodeName is the name of the node whose devices may be read.
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName"`
	// until is when the turn is over. No read begins in its last 20s.
	// +required
	Until Time `json:"until"`
	// enrolment is the resourceVersion of the ConfigMap in which the node is enrolled, as the
	// source saw it then. Empty: the source knows of none.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Enrolment string `json:"enrolment,omitempty"`
}

// MaxTurns bounds the turns that stand in the ledger. One lasts CheckTurn, and the source
// gives no more than five in two seconds, so that two leaders at once stay below it.
const MaxTurns = 256

// Turn is until when it is this node's turn to have its devices read, if it is.
func (s FenceLedgerStatus) Turn(node string) (until Time, is bool) {
	for _, t := range s.Checks {
		if t.NodeName == node {
			return t.Until, true
		}
	}
	return Time{}, false
}

// Enrolment is the version of a node's enrolment that stands in its turn; empty if none does.
func (s FenceLedgerStatus) Enrolment(node string) string {
	for _, t := range s.Checks {
		if t.NodeName == node {
			return t.Enrolment
		}
	}
	return ""
}

// Restored is an answer of the API server that is older than one it gave before.
type Restored struct {
	// seenAt is when that was seen, by the API server's clock. It tells one restore from
	// the next.
	// +required
	SeenAt Time `json:"seenAt"`
	// from is the highest resourceVersion of the FenceLedger that was read before.
	// +kubebuilder:validation:MaxLength=64
	// +required
	From string `json:"from"`
	// to is the lower one that was read then.
	// +kubebuilder:validation:MaxLength=64
	// +required
	To string `json:"to"`
}

// FenceLedgerList is a list of FenceLedger.
// +kubebuilder:object:root=true
type FenceLedgerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FenceLedger `json:"items"`
}
