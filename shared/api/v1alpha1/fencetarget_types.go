package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FenceTarget is what was last seen of the devices by which a node would be
// fenced, looked at while nothing has failed. Nobody decides by it. It goes with
// its Node. It has no status subresource: one resourceVersion covers all of it, so
// that its claim is taken by one write.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=nodefence
// +kubebuilder:printcolumn:name=NODE,type=string,JSONPath=`.status.node`
// +kubebuilder:printcolumn:name=DEVICE,type=string,JSONPath=`.status.device`
// +kubebuilder:printcolumn:name=IDENTITY,type=string,JSONPath=`.status.identity`
// +kubebuilder:printcolumn:name=FENCEABLE,type=string,JSONPath=`.status.conditions[?(@.type=="Fenceable")].status`
// +kubebuilder:printcolumn:name=REASON,type=string,JSONPath=`.status.conditions[?(@.type=="Fenceable")].reason`
// +kubebuilder:printcolumn:name=CHECKED,type=date,JSONPath=`.status.lastChecked`
// +kubebuilder:printcolumn:name=ENROLLED,type=string,JSONPath=`.status.enrolled`,priority=1
// +kubebuilder:printcolumn:name=MESSAGE,type=string,JSONPath=`.status.conditions[?(@.type=="Fenceable")].message`,priority=1
type FenceTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Status FenceTargetStatus `json:"status,omitzero"`
}

// FenceTargetStatus is a node's devices as last seen.
type FenceTargetStatus struct {
	Node string `json:"node"`
	// NodeUID tells two Node objects of one name apart.
	NodeUID types.UID `json:"nodeUID"`
	// Device, Identity and Enrolled are those of the first of the devices.
	// +optional
	Device string `json:"device,omitempty"`
	// +optional
	Identity string `json:"identity,omitempty"`
	// +optional
	Enrolled string `json:"enrolled,omitempty"`
	// LastChecked is when anything of this node was looked at last.
	// +optional
	LastChecked *Time `json:"lastChecked,omitempty"`
	// Devices are those of all levels, in order, and then those of the isolation.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Devices []TargetDevice `json:"devices,omitempty"`
	// Claim is one read of one of them that is under way (S7): until its notAfter,
	// or until it is gone, no fence of this node gets a slot.
	// +optional
	Claim *TargetClaim `json:"claim,omitempty"`
	// CheckNow is the wish to have all devices read at once that was heeded last.
	// +optional
	CheckNow *CheckNow `json:"checkNow,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CheckNow is a person's wish to have a node's devices read at once.
type CheckNow struct {
	// Value is that of annotation nodefence.io/check-now.
	Value string `json:"value"`
	// At is since when it is heeded.
	At Time `json:"at"`
	// DoneAt is when each of the devices had been asked since; none: not yet.
	// +optional
	DoneAt *Time `json:"doneAt,omitempty"`
}

// CheckNowAnnotation of a FenceTarget asks to have its node's devices read at once. Each
// new value, of which the first 64 letters count, is a new wish. Whoever may patch the
// FenceTarget may ask.
const CheckNowAnnotation = "nodefence.io/check-now"

// AskedNow is the wish that stands there; empty if none does.
func (t *FenceTarget) AskedNow() string {
	v := []rune(t.Annotations[CheckNowAnnotation])
	return string(v[:min(len(v), 64)])
}

// Heeded: that wish has been fulfilled.
func (t *FenceTarget) Heeded(wish string) bool {
	c := t.Status.CheckNow
	return c != nil && c.Value == wish && c.DoneAt != nil
}

// TargetDevice is one device as last seen. No secret is in it (S29).
type TargetDevice struct {
	Driver  string `json:"driver"`
	Address string `json:"address"`
	// Scope is what it takes from the machine; empty for its power.
	// +optional
	Scope Scope `json:"scope,omitempty"`
	// Identity is what the device says its machine is, where it can tell, and Enrolled
	// what it must say. Where the two are one machine they are spelt alike.
	// +optional
	Identity string `json:"identity,omitempty"`
	// +optional
	Enrolled string `json:"enrolled,omitempty"`
	// Tells: it has told this machine since it was enrolled so. From then on an answer
	// without one is refused, by a fence too.
	// +optional
	Tells bool `json:"tells,omitempty"`
	// Power is what it said of the machine, where it has a scope On for having access
	// and Off for being cut off; empty is unknown.
	// +optional
	Power string `json:"power,omitempty"`
	// LastChecked is when it was last spoken with; none: not yet.
	// +optional
	LastChecked *Time `json:"lastChecked,omitempty"`
	// LastAsked is when the function that speaks with it was asked to read it, where
	// that is not the one that binds it; none: it has answered.
	// +optional
	LastAsked *Time  `json:"lastAsked,omitempty"`
	Reason    Reason `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
}

// TargetClaim says who reads a device, and until when.
type TargetClaim struct {
	Holder   string `json:"holder"`
	At       Time   `json:"at"`
	NotAfter Time   `json:"notAfter"`
}

// Fenceable is the condition of a FenceTarget: True where each of the node's
// devices answers, and for the right machine.
const Fenceable = "Fenceable"

// CheckTurn is how long a node may be in the FenceLedger's status.checks for one
// check: only then is its device read.
const CheckTurn = 40 * time.Second

// FenceTargetList is a list of FenceTarget.
// +kubebuilder:object:root=true
type FenceTargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FenceTarget `json:"items"`
}
