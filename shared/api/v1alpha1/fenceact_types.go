package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FenceAct is the record of one act of a person: a brake that was set or released, a request to a fence, a word about
// the cluster. The source writes a FenceAct for each such change of a FenceLedger, a FencePolicy or a NodeFence. The
// name follows from the change alone, so that no change has two. A FenceAct never changes, and nothing is decided by
// it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=fencing
// +kubebuilder:printcolumn:name=AT,type=string,JSONPath=`.spec.at`
// +kubebuilder:printcolumn:name=ACT,type=string,JSONPath=`.spec.field`
// +kubebuilder:printcolumn:name=OBJECT,type=string,JSONPath=`.spec.object.name`
// +kubebuilder:printcolumn:name=FROM,type=string,JSONPath=`.spec.from`
// +kubebuilder:printcolumn:name=TO,type=string,JSONPath=`.spec.to`
// +kubebuilder:printcolumn:name=BY,type=string,JSONPath=`.spec.by`
// +kubebuilder:printcolumn:name=MANAGER,type=string,priority=1,JSONPath=`.spec.manager`
// +kubebuilder:printcolumn:name=REASON,type=string,JSONPath=`.spec.reason`
type FenceAct struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the person did. It does not change.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an act does not change"
	// +kubebuilder:validation:XValidation:rule="has(self.by) != (has(self.unnamed) && self.unnamed)",message="an act has by, or is unnamed"
	// +required
	Spec FenceActSpec `json:"spec,omitzero"`
}

// ActField is the brake that was set or released, or the word that was given.
// +kubebuilder:validation:Enum=Stop;Pause;RestoreConfirmed;EndCoolDown;Lost;Approve;Abort;Retry;Lift;ConfirmOff;Trust
type ActField string

// The acts. Stop and Pause are brakes: to says which way. The others are words of a person.
const (
	// ActStop is spec.stop of the FenceLedger.
	ActStop ActField = "Stop"
	// ActPause is spec.pauseRequests of a FencePolicy.
	ActPause ActField = "Pause"
	// ActRestoreConfirmed, ActEndCoolDown and ActLost are spec.restoreConfirmed, coolDownEnded and lost of the FenceLedger.
	ActRestoreConfirmed ActField = "RestoreConfirmed"
	ActEndCoolDown      ActField = "EndCoolDown"
	ActLost             ActField = "Lost"
	// ActApprove, ActAbort, ActRetry, ActLift and ActConfirmOff are spec.requests of a NodeFence.
	ActApprove    ActField = "Approve"
	ActAbort      ActField = "Abort"
	ActRetry      ActField = "Retry"
	ActLift       ActField = "Lift"
	ActConfirmOff ActField = "ConfirmOff"
	// ActTrust is spec.trust of a NodeFence.
	ActTrust ActField = "Trust"
)

// ActLabel has an act's field, so that acts of one kind are listed by a selector.
const ActLabel = "nodefence.io/act"

// ActText is how long from and to of an act may be, in bytes.
const ActText = 512

// FenceActSpec is what one person did.
type FenceActSpec struct {
	// object is the FenceLedger, FencePolicy or NodeFence into which the person wrote.
	// +required
	Object ActObject `json:"object,omitzero"`
	// field is the brake or the word: Stop, Pause, RestoreConfirmed, EndCoolDown, Lost, Approve, Abort, Retry, Lift,
	// ConfirmOff or Trust.
	// +required
	Field ActField `json:"field,omitempty"`
	// from is what stood there before, shortened to 512 letters; not set where nothing did.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	From string `json:"from,omitempty"`
	// to is what stands there since, shortened to 512 letters; not set where nothing does.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	To string `json:"to,omitempty"`
	// at is when the person acted, as the object says; where the object does not say, when the source saw it.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	At Time `json:"at,omitempty"`
	// seen is true where at is when the source saw the change.
	// +optional
	Seen bool `json:"seen,omitempty"`
	// madeBefore is true where the change was made while no source ran: before the time at which it was seen.
	// +optional
	MadeBefore bool `json:"madeBefore,omitempty"`
	// by is the authenticated user, in 1 to 256 letters; not set where the way to act gave no name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	By string `json:"by,omitempty"`
	// unnamed is true where the way to act gave no name.
	// +optional
	Unnamed bool `json:"unnamed,omitempty"`
	// manager is the field manager that wrote an unnamed change (metadata.managedFields), in at most 128 letters. Each
	// writer chooses the name of its manager.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Manager string `json:"manager,omitempty"`
	// reason is why, as the person gave it: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
	// fenceNumber is the number of the fence that the act is about: 1 or more.
	// +kubebuilder:validation:Minimum=1
	// +optional
	FenceNumber int64 `json:"fenceNumber,omitempty"`
	// mark is a digest of the name, the time and the word that stood there after the change: at most 64 letters. Where
	// the next change leaves it as it is, that change has no name.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Mark string `json:"mark,omitempty"`
}

// ActObject is the object that a person changed.
type ActObject struct {
	// kind is FenceLedger, FencePolicy or NodeFence: at most 63 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind,omitempty"`
	// name is the name of the object: 1 to 253 letters. A NodeFence has the name of its node.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`
	// uid is the UID of the object: 1 to 64 letters.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	UID types.UID `json:"uid,omitempty"`
	// generation is metadata.generation of the object after the change: 1 or more.
	// +kubebuilder:validation:Minimum=1
	// +required
	Generation int64 `json:"generation,omitempty"`
}

// BrakeChange is who changed a brake last, for the record of acts (FenceAct). Nothing is decided by it. A brake may be
// changed without it: the act then has no name.
type BrakeChange struct {
	// by is your own name, as the API server knows you (kubectl auth whoami): 1 to 256 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	By string `json:"by,omitempty"`
	// at is when you change it: a time of the years 2000 to 9998 with microseconds, such as
	// 2026-01-02T03:04:05.678901Z. Another time each time: a change that leaves by and at as they are has no name.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	At Time `json:"at,omitempty"`
	// reason says why, for those who read it later: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
}

// FenceActList is a list of FenceAct.
// +kubebuilder:object:root=true
type FenceActList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FenceAct `json:"items"`
}
