package v1alpha1

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trigger is what started a fence: a node condition, or an event that asked for it.
// Such an event may also have joined a fence that a condition had opened (S7).
// +kubebuilder:validation:XValidation:rule="has(self.condition) || has(self.request)",message="a trigger is a condition, a request, or a request that joined a condition: set one of the two at least"
// +kubebuilder:validation:XValidation:rule="!has(self.condition) || !has(self.request) || has(self.request.mergedAt)",message="a request beside a condition has joined its fence: set request.mergedAt"
type Trigger struct {
	// Condition, Status: the node condition that held, or Lease and Still for a
	// Lease that stood still (the policy's earlyProbe), or Startup and TimedOut for
	// a node that was never Ready (nodeStartupTimeout), or Machine and Failed or
	// Remediate for its Machine (machines.selector).
	// +optional
	Condition string `json:"condition,omitempty"`
	// +optional
	Status string `json:"status,omitempty"`
	// +optional
	Reason string `json:"reason,omitempty"`
	// Machine is the one on whose account it opened, if it did.
	// +optional
	Machine *MachineRef `json:"machine,omitempty"`
	// Request is the event that asked for this fence.
	// +optional
	Request *FenceRequest `json:"request,omitempty"`
	// Merged are the last requests that came when there was one already, or when the
	// fence had begun, oldest first: it answers to them too.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Merged []FenceRequest `json:"merged,omitempty"`
	// Since is when the condition took that status; For how long it must have held.
	Since    Time            `json:"since"`
	Duration metav1.Duration `json:"duration,omitempty"`
}

// FenceRequest is an event that asked for a fence, and on whose authority.
type FenceRequest struct {
	// ID, Source, Type are the event's attributes. ID and source together tell
	// it from every other: it is served once.
	ID     string `json:"id"`
	Source string `json:"source"`
	Type   string `json:"type"`
	// By is the user that the event's token was issued to; empty if the policy
	// trusts the source.
	// +optional
	By string `json:"by,omitempty"`
	// Reason is why, in words, of one that joined a fence. That of one that opened it
	// is the trigger's.
	// +optional
	Reason string `json:"reason,omitempty"`
	// MergedAt is when it joined a fence that was open already. Its age counts from here.
	// +optional
	MergedAt *Time `json:"mergedAt,omitempty"`
}

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

// Key tells this request from every other.
func (r *FenceRequest) Key() string { return r.ID + " " + r.Source }

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

// Served tells whether a fence of this node has answered to this request already.
func (f *NodeFence) Served(r *FenceRequest) bool {
	return f.served(func(key string) bool { return key == r.Key() })
}

// ServedID tells whether a request of this ID has, whatever its source: a token is
// bound to node and ID, and whoever saw its event can write another source.
func (f *NodeFence) ServedID(id string) bool {
	return f.served(func(key string) bool { return strings.HasPrefix(key, id+" ") })
}

func (f *NodeFence) served(is func(key string) bool) bool {
	if was := f.Status.Decision.Trigger.Request; was != nil && is(was.Key()) {
		return true
	}
	joined := func(r FenceRequest) bool { return is(r.Key()) }
	return slices.ContainsFunc(f.Status.Decision.Trigger.Merged, joined) || slices.ContainsFunc(f.Status.Past, func(p PastFence) bool {
		return is(p.Request) || slices.ContainsFunc(p.Merged, is)
	})
}
