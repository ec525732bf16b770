package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Requests are what people ask of a running fence.
type Requests struct {
	// Approve lets a fence go on that its policy holds for a person.
	// +optional
	Approve *Request `json:"approve,omitempty"`
	// Abort ends the fence if no power was cut yet, and stops further Offs.
	// +optional
	Abort *Request `json:"abort,omitempty"`
	// Retry starts a fence that was given up once more.
	// +optional
	Retry *Request `json:"retry,omitempty"`
	// Uncordon gives a healthy node back that its policy keeps isolated (recovery.uncordon: Manual).
	// It is about the recovery that is under way, and counts for no later one.
	// +optional
	Uncordon *Request `json:"uncordon,omitempty"`
	// ConfirmOff is a person's word that the machine is off. What it says
	// can't be checked by nodefence: if it is not so, data is lost.
	// +optional
	ConfirmOff *Confirmation `json:"confirmOff,omitempty"`
}

// Request is one person's wish.
type Request struct {
	// By is the authenticated user.
	// +kubebuilder:validation:MinLength=1
	By string `json:"by"`
	// At tells one request from the next.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	At metav1.Time `json:"at"`
	// +optional
	Reason string `json:"reason,omitempty"`
}

// Confirmation is a person's word that the machine is off.
type Confirmation struct {
	Request `json:",inline"`
	// OutOfService is how the out-of-service taint says it: nodeshutdown, or
	// hardwarefailure for a machine that is beyond repair. Unless set: nodeshutdown.
	// Kubernetes frees the work of both alike; others may read it.
	// +optional
	OutOfService OutOfServiceValue `json:"outOfService,omitempty"`
}

// LastEnd is when the last fence of this node ended, nil if none has. What was asked or
// reported before that was about that one.
func (f *NodeFence) LastEnd() *Time {
	past := f.Status.Past
	switch {
	case f.Status.Phase == Finished: // reopened, perhaps, and not looked at since
		return f.Status.PhaseSince
	case len(past) > 0:
		return &past[len(past)-1].ClosedAt
	}
	return nil
}
