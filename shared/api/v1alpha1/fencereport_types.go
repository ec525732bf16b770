package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FenceReport tells of one fence that is over: who asked for it and why, what proved the machine off, what was
// released, and when. Function recover creates it once, before the node's NodeFence may be used for the next fence.
// Nobody changes it. It outlives the NodeFence, and is deleted by age and count (spec.reports of the FenceLedger).
// Its name is the UID of the NodeFence, a dash, and the number of the fence.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=freport,categories=fencing
// +kubebuilder:selectablefield:JSONPath=`.spec.nodeName`
// +kubebuilder:printcolumn:name=NODE,type=string,JSONPath=`.spec.nodeName`
// +kubebuilder:printcolumn:name=NUMBER,type=integer,JSONPath=`.spec.fenceNumber`
// +kubebuilder:printcolumn:name=OUTCOME,type=string,JSONPath=`.spec.outcome`
// +kubebuilder:printcolumn:name=PROOF,type=string,JSONPath=`.spec.proof.type`
// +kubebuilder:printcolumn:name=OPENED,type=date,JSONPath=`.spec.openedAt`
// +kubebuilder:printcolumn:name=CLOSED,type=date,JSONPath=`.spec.closedAt`
// +kubebuilder:printcolumn:name=WHY,type=string,priority=1,JSONPath=`.spec.why`
type FenceReport struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the fence came to. It never changes.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a FenceReport never changes"
	// +required
	Spec FenceReportSpec `json:"spec"`
}

// FenceReportSpec is what one fence came to.
type FenceReportSpec struct {
	// nodeName is the name of the node that was fenced: 1 to 253 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName,omitempty"`
	// nodeUID is the UID of the Node object, at most 64 letters; empty if the node had none.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +optional
	NodeUID types.UID `json:"nodeUID,omitempty"`
	// fenceUID is the UID of the NodeFence: 1 to 64 letters.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	FenceUID types.UID `json:"fenceUID,omitempty"`
	// fenceNumber is which fence of the NodeFence it is: 1 or more.
	// +kubebuilder:validation:Minimum=1
	// +required
	FenceNumber int64 `json:"fenceNumber,omitempty"`
	// policyName is the name of the FencePolicy that decided, at most 253 letters.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PolicyName string `json:"policyName,omitempty"`
	// policyGeneration is the FencePolicy's metadata.generation when it was resolved last, 0 or more.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PolicyGeneration int64 `json:"policyGeneration,omitempty"`
	// mode is the mode of the policy: Enforce, RequireApproval or DryRun.
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// action is what the policy has done to the machine: Reboot, PowerOff, Isolate or WaitForOff.
	// +optional
	Action FenceAction `json:"action,omitempty"`
	// trigger is what the fence opened for: NodeCondition, LeaseStill, NodeMissing, StartupTimeout, Machine, Problem or
	// Request.
	// +required
	Trigger TriggerType `json:"trigger,omitempty"`
	// since is when that began: the condition's own transition, or when it was first seen or asked for.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	Since Time `json:"since,omitempty"`
	// why is the evidence for which the fence opened, in words: the condition, the Lease, the Machine or the request.
	// At most 512 letters.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Why string `json:"why,omitempty"`
	// askedBy are the events that asked for the fence, the first 4.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	AskedBy []ReportAsker `json:"askedBy,omitempty"`
	// requests are what people asked of the fence, and the answers: at most 5.
	// +kubebuilder:validation:MaxItems=5
	// +listType=map
	// +listMapKey=request
	// +optional
	Requests []ReportRequest `json:"requests,omitempty"`
	// openedAt is when the fence was opened, by the API server's clock.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	OpenedAt Time `json:"openedAt,omitempty"`
	// admittedAt is when the gate last admitted the fence.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +optional
	AdmittedAt *Time `json:"admittedAt,omitempty"`
	// offSentAt is when the fence last cut the power.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +optional
	OffSentAt *Time `json:"offSentAt,omitempty"`
	// releasedAt is when nothing was left to release.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +optional
	ReleasedAt *Time `json:"releasedAt,omitempty"`
	// healthyAt is since when the node was healthy again.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +optional
	HealthyAt *Time `json:"healthyAt,omitempty"`
	// closedAt is when the fence was ready to be closed, by the API server's clock.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	ClosedAt Time `json:"closedAt,omitempty"`
	// cuts is how many times the fence cut the power, 0 or more.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Cuts int32 `json:"cuts,omitempty"`
	// proof is why the machine counted as off. Not set: nothing was proven, or a sign of life ended the proof.
	// +optional
	Proof *ReportProof `json:"proof,omitempty"`
	// released is what was released. Not set: nothing was.
	// +optional
	Released *ReportRelease `json:"released,omitempty"`
	// outcome is the one word for how the fence ended, of the closed list in infra/crd/REASONS.md: 1 to 64 letters.
	// +kubebuilder:validation:MinLength=1
	// +required
	Outcome Reason `json:"outcome,omitempty"`
	// message says the end in a sentence: at most 512 letters.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`
}

// ReportAsker is an event that asked for the fence, and the user who sent it.
type ReportAsker struct {
	// user is the user that the event's token was issued to, or names the problem that was reported; at most 256
	// letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	User string `json:"user,omitempty"`
	// source is the source attribute of the event, at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Source string `json:"source,omitempty"`
	// id is the id attribute of the event, at most 128 letters.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	ID string `json:"id,omitempty"`
	// reason says why, in the words of the sender: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
	// at is when the gate accepted the event.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	At Time `json:"at,omitempty"`
}

// ReportRequest is what a person asked of the fence, and the answer.
type ReportRequest struct {
	// request names it: Approve, Abort, Retry, Uncordon or ConfirmOff.
	// +required
	Request RequestName `json:"request,omitempty"`
	// by is the name of the person, as the request has it: 1 to 256 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	By string `json:"by,omitempty"`
	// reason says why, in the words of the person: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
	// result is Accepted, Done, NotNeeded or Refused. Not set: the fence ended before an answer.
	// +optional
	Result AnswerResult `json:"result,omitempty"`
	// at is when that was decided, by the API server's clock; without a result, when the fence was ready to be closed.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	At Time `json:"at,omitempty"`
}

// ReportProof is the proof on which work was released.
type ReportProof struct {
	// type is what the proof rests on: SeenOff, Confirmed, StorageCut or Kdump.
	// +required
	Type ProofKind `json:"type,omitempty"`
	// device is the driver and the address of what was read, or who sent the messages of a dump: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Device string `json:"device,omitempty"`
	// identity is what the device said its machine is, where it can tell: at most 128 letters.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Identity string `json:"identity,omitempty"`
	// bootID is the boot ID of the node before the fence, at most 128 letters.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	BootID string `json:"bootID,omitempty"`
	// by is the name of the person who confirmed it, where one did: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	By string `json:"by,omitempty"`
	// reads are the reads that the proof rests on, the first 4.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Reads []ReportRead `json:"reads,omitempty"`
	// at is when the proof was made, by the API server's clock.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	At Time `json:"at,omitempty"`
}

// ReportRead is one read of a device.
type ReportRead struct {
	// state is PoweredOn, PoweredOff or Unknown. Of a device that cuts a machine off from storage or network PoweredOff
	// is no access.
	// +required
	State PowerState `json:"state,omitempty"`
	// at is taken before the device was asked.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	At Time `json:"at,omitempty"`
}

// ReportRelease is what was released.
type ReportRelease struct {
	// startedAt is when the release began, by the API server's clock.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	StartedAt Time `json:"startedAt,omitempty"`
	// pods is how many pods were released, 0 or more.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Pods int32 `json:"pods,omitempty"`
	// podsLeft is how many pods were left, 0 or more.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PodsLeft int32 `json:"podsLeft,omitempty"`
	// attachmentsLeft is how many VolumeAttachments were left, 0 or more.
	// +kubebuilder:validation:Minimum=0
	// +optional
	AttachmentsLeft int32 `json:"attachmentsLeft,omitempty"`
	// timedOut says that the release ended before all was free.
	// +optional
	TimedOut bool `json:"timedOut,omitempty"`
	// kept says which pods stayed by rule, and why: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Kept string `json:"kept,omitempty"`
}

// FenceReportList is a list of FenceReport.
// +kubebuilder:object:root=true
type FenceReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FenceReport `json:"items"`
}

// ReportName is the name of the report of a fence.
func ReportName(fenceUID types.UID, number int64) string {
	return fmt.Sprintf("%s-%d", fenceUID, number)
}

// Digest tells two reports of different content apart.
func (s *FenceReportSpec) Digest() string {
	b, _ := json.Marshal(s) // plain values always encode
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// ReportRecord is where the report of a fence that ends stands.
type ReportRecord struct {
	// name is the name of the FenceReport.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// at is when the fence was ready to be closed, by the API server's clock.
	// +required
	At Time `json:"at"`
	// digest is that of the content that is written. A FenceReport of this name with another digest is not this fence's.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Digest string `json:"digest,omitempty"`
	// lastTryAt is when the report was tried to be written for the last time, because the time for it was over.
	// +optional
	LastTryAt *Time `json:"lastTryAt,omitempty"`
	// missing says why the fence was closed without its report: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Missing string `json:"missing,omitempty"`
}

// The defaults of ReportsSpec.
const (
	// ReportsKeptFor is 90 days.
	ReportsKeptFor = 90 * 24 * time.Hour
	ReportsAtMost  = 5000
)

// Bounds are how long a FenceReport is kept, and how many are.
func (s *ReportsSpec) Bounds() (keepFor time.Duration, atMost int) {
	keepFor, atMost = ReportsKeptFor, ReportsAtMost
	if s != nil {
		keepFor = s.KeepFor.Or(ReportsKeptFor).Duration
		if s.AtMost != nil {
			atMost = int(*s.AtMost)
		}
	}
	return keepFor, atMost
}

// ReportsSpec bounds the FenceReports by age and count.
type ReportsSpec struct {
	// keepFor is how long a FenceReport is kept after it was written, from 1h to 87600h; 2160h by default,
	// which is 90 days.
	// +kubebuilder:default="2160h"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1h') && duration(self) <= duration('87600h')",message="reports.keepFor must be between 1h and 87600h"
	// +optional
	KeepFor *Duration `json:"keepFor,omitempty"`
	// atMost is how many FenceReports are kept, from 10 to 100000; 5000 by default. Beyond that the oldest are deleted.
	// +kubebuilder:default=5000
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=100000
	// +optional
	AtMost *int32 `json:"atMost,omitempty"`
}
