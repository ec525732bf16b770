package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// Census is what the source has seen of all that is counted before a fence begins, so that
// whoever decides reads the ledger alone and lists nothing. It is written before the event
// that tells of a change is sent. By one that is missing, older than 15s, or that lacks
// something, nothing is decided: then the cluster is listed. Members of etcd are not in it: what
// counts for their quorum is read anew each time.
type Census struct {
	// observedAt is when the source wrote it last, by the API server's clock.
	// +required
	ObservedAt Time `json:"observedAt"`
	// source names the replica of the source that wrote it, so that of two of them the one
	// that has stopped leading does not write over the other's.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Source string `json:"source,omitempty"`
	// labelKeys are the keys of all labels by which policies and budgets tell nodes apart.
	// Other labels of nodes are not kept here.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=317
	// +listType=atomic
	// +optional
	LabelKeys []string `json:"labelKeys,omitempty"`
	// alike are the nodes of which nothing is to be told but how many there are.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Alike []AlikeNodes `json:"alike,omitempty"`
	// nodes are all other nodes: the unhealthy ones, those of the control plane and of etcd,
	// those with an open fence, those whose Lease stands still, and those that a policy says
	// are missing or have a Machine that failed.
	// +kubebuilder:validation:MaxItems=512
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	Nodes []CountedNode `json:"nodes,omitempty"`
	// fences are those that are open, and those that are closed and still have a slot in the
	// ledger. A slot is free by a fence that was seen later than the slot was reserved; by one
	// that is not listed here it is not.
	// +kubebuilder:validation:MaxItems=512
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	Fences []CountedFence `json:"fences,omitempty"`
	// policies are the names of all FencePolicies.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +optional
	Policies []string `json:"policies,omitempty"`
	// budgets are the names of all FenceBudgets.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +optional
	Budgets []string `json:"budgets,omitempty"`
}

// How much a census holds. With more of anything there is none, and the cluster is listed.
const (
	MaxCensusKeys    = 32
	MaxCensusAlike   = 256
	MaxCensusNodes   = 512
	MaxCensusFences  = 512
	MaxCensusObjects = 8
)

// AlikeNodes are healthy nodes that have the same of the labels that count.
type AlikeNodes struct {
	// labels are those of the keys of labelKeys that each of these nodes has.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// count is how many there are.
	// +required
	Count int32 `json:"count"`
}

// CountedNode is a Node that is told by its name.
type CountedNode struct {
	// nodeName is the name of the Node that is counted.
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName"`
	// nodeUID tells this Node from an earlier one of the same name.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +required
	NodeUID types.UID `json:"nodeUID"`
	// labels are those of the keys of labelKeys that it has.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// unhealthy says that its condition Ready is not True.
	// +optional
	Unhealthy bool `json:"unhealthy,omitempty"`
	// controlPlane says that its labels make it one of the control plane.
	// +optional
	ControlPlane bool `json:"controlPlane,omitempty"`
}

// CountedFence is a NodeFence, as far as others are decided on by it.
type CountedFence struct {
	// nodeName is the name of the node that is fenced.
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName"`
	// fenceUID is the UID of the NodeFence.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +required
	FenceUID types.UID `json:"fenceUID"`
	// fenceNumber is which fence of the node it is; 0 where the record was deleted before
	// one opened.
	// +optional
	FenceNumber int64 `json:"fenceNumber,omitempty"`
	// version is the NodeFence's resourceVersion as it was seen.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Version string `json:"version"`
	// phase is the phase that it is in.
	// +required
	Phase Phase `json:"phase"`
	// decidedAt is when the last yes to its beginning was given.
	// +optional
	DecidedAt *Time `json:"decidedAt,omitempty"`
	// givenBack is when the slot was reserved that it gave back without having begun.
	// +optional
	GivenBack *Time `json:"givenBack,omitempty"`
	// wouldBeginAt is that of the NodeFence's status.
	// +optional
	WouldBeginAt *Time `json:"wouldBeginAt,omitempty"`
	// wouldDrainAt is that of the NodeFence's status.
	// +optional
	WouldDrainAt *Time `json:"wouldDrainAt,omitempty"`
	// cutAt is when its power was cut, by the clock of the API server.
	// +optional
	CutAt *Time `json:"cutAt,omitempty"`
	// marks are what else counts of it.
	// +kubebuilder:validation:MaxItems=9
	// +listType=set
	// +optional
	Marks []FenceMark `json:"marks,omitempty"`
	// missingUnder are the policies under which it was opened for a node without a Node
	// object: at most 64.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +optional
	MissingUnder []string `json:"missingUnder,omitempty"`
}

// FenceMark is one thing that is so of a fence.
// +kubebuilder:validation:Enum=Awaited;SwitchedByUs;Releasing;Restarted;Served;Drained;Asked;WithoutNode;Deleted;Missing
type FenceMark string

// The marks.
const (
	// FenceAwaited: it waits for its device to answer again, without a slot.
	FenceAwaited FenceMark = "Awaited"
	// FenceSwitchedByUs: power was cut for it.
	FenceSwitchedByUs FenceMark = "SwitchedByUs"
	// FenceReleasing: a release was begun for it.
	FenceReleasing FenceMark = "Releasing"
	// FenceRestarted: its flow began again.
	FenceRestarted FenceMark = "Restarted"
	// FenceDrained: its node is drained, or was.
	FenceDrained FenceMark = "Drained"
	// FenceServed: something was cut or released.
	FenceServed FenceMark = "Served"
	// FenceAsked: somebody asked for it, or reported a problem.
	FenceAsked FenceMark = "Asked"
	// FenceWithoutNode: it was decided without a Node object.
	FenceWithoutNode FenceMark = "WithoutNode"
	// FenceDeleted: its record is being deleted.
	FenceDeleted FenceMark = "Deleted"
	// FenceMissing: it was opened because there is no Node object.
	FenceMissing FenceMark = "Missing"
)
