package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Requests are what people ask of the fence that is open. Each names that fence, so that a
// request about one fence never counts for the next.
type Requests struct {
	// approve lets a fence continue that its policy holds for a person (mode: RequireApproval).
	// +optional
	Approve *Request `json:"approve,omitempty"`
	// abort ends the fence if no power was cut yet, and stops further Offs.
	// +optional
	Abort *AbortRequest `json:"abort,omitempty"`
	// retry starts a fence again that was given up.
	// +optional
	Retry *Request `json:"retry,omitempty"`
	// uncordon gives a healthy node back that its policy keeps isolated
	// (recovery.uncordon: Manual). It is about the recovery that is under way, and counts
	// for no later one.
	// +optional
	Uncordon *Request `json:"uncordon,omitempty"`
	// confirmOff is a person's confirmation that the machine is off. Each power device of the
	// machine is read first, and a device that reads on refuses it. Where no device can be read
	// the confirmation is all that nodefence has: if the machine is not off, data is lost.
	// +optional
	ConfirmOff *Confirmation `json:"confirmOff,omitempty"`
}

// Request is what one person asks of one fence.
type Request struct {
	// fenceNumber is status.fenceNumber of the fence that it is about: 1 or more. It is
	// compared when it is written, and when it is acted on.
	// +kubebuilder:validation:Minimum=1
	// +required
	FenceNumber int64 `json:"fenceNumber,omitempty"`
	// by is your own name, as the API server knows you (kubectl auth whoami): at most 256
	// letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	By string `json:"by,omitempty"`
	// at tells one request from the next, by its second: a time of the years
	// 2000 to 9998, such as 2026-01-02T03:04:05Z.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	At metav1.Time `json:"at"`
	// reason says why, for those who read it later: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
}

// AbortRequest is a Request that need not name its fence, because it only stops something.
type AbortRequest struct {
	// fenceNumber is status.fenceNumber of the fence that it is about: 1 or more. Unless
	// set, it is about the one that is open.
	// +kubebuilder:validation:Minimum=1
	// +optional
	FenceNumber *int64 `json:"fenceNumber,omitempty"`
	// by is your own name, as the API server knows you (kubectl auth whoami): at most 256
	// letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	By string `json:"by,omitempty"`
	// at tells one request from the next, by its second: a time of the years
	// 2000 to 9998, such as 2026-01-02T03:04:05Z.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	At metav1.Time `json:"at"`
	// reason says why, for those who read it later: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
}

// Confirmation is a person's statement that the machine is off.
type Confirmation struct {
	Request `json:",inline"`
	// outOfServiceValue is how the out-of-service taint says it: nodeshutdown, the default, or
	// hardwarefailure for a machine that is beyond repair. Kubernetes treats both alike; other
	// programs may read the value.
	// +optional
	OutOfServiceValue OutOfServiceValue `json:"outOfServiceValue,omitempty"`
}

// About are those of them that are about the fence of this number. An abort without a
// number is about whichever is open.
func (r Requests) About(fence int64) Requests {
	for _, one := range []**Request{&r.Approve, &r.Retry, &r.Uncordon} {
		if *one != nil && (*one).FenceNumber != fence {
			*one = nil
		}
	}
	if r.ConfirmOff != nil && r.ConfirmOff.FenceNumber != fence {
		r.ConfirmOff = nil
	}
	if r.Abort != nil && r.Abort.FenceNumber != nil && *r.Abort.FenceNumber != fence {
		r.Abort = nil
	}
	return r
}

// Requests are what people ask of the fence that is open.
func (f *NodeFence) Requests() Requests { return f.Spec.Requests.About(f.Status.FenceNumber) }

// RequestName names one of spec.requests.
// +kubebuilder:validation:Enum=Approve;Abort;Retry;Uncordon;ConfirmOff
type RequestName string

// The names.
const (
	AskedApprove    RequestName = "Approve"
	AskedAbort      RequestName = "Abort"
	AskedRetry      RequestName = "Retry"
	AskedUncordon   RequestName = "Uncordon"
	AskedConfirmOff RequestName = "ConfirmOff"
)

// AnswerResult is the result of a request.
// +kubebuilder:validation:Enum=Accepted;Done;NotNeeded;Refused
type AnswerResult string

// The results. Accepted may be followed by another one; the others are final.
const (
	Accepted  AnswerResult = "Accepted"
	Done      AnswerResult = "Done"
	NotNeeded AnswerResult = "NotNeeded"
	Refused   AnswerResult = "Refused"
)

// RequestAnswer is the answer to what a person asked of this fence.
type RequestAnswer struct {
	// request names it: Approve, Abort, Retry, Uncordon or ConfirmOff.
	// +required
	Request RequestName `json:"request"`
	// fenceNumber is that of the request; not set for an abort that names no fence. The answer to
	// a request about another fence is no answer to one about this fence.
	// +optional
	FenceNumber int64 `json:"fenceNumber,omitempty"`
	// by is the name of the person who asked, as the request has it.
	// +kubebuilder:validation:MaxLength=256
	// +required
	By string `json:"by"`
	// at is the second of the request that is answered; a request of another second is another request.
	// +required
	At metav1.Time `json:"at"`
	// result is Accepted as long as it counts and is not carried out yet, Done once it
	// was, NotNeeded where nothing waited for it, and Refused where it was not believed or
	// is about another fence.
	// +required
	Result AnswerResult `json:"result"`
	// answeredAt is when that was decided, by the API server's clock.
	// +required
	AnsweredAt Time `json:"answeredAt"`
	// message says the answer in a sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// Answer is the answer to the last request of this name; nil if there is none.
func (st *NodeFenceStatus) Answer(name RequestName) *RequestAnswer {
	for i := range st.Answers {
		if st.Answers[i].Request == name {
			return &st.Answers[i]
		}
	}
	return nil
}

// The first and the last time of an answer: metav1.Time writes the zero time as null, and this is a required field.
var (
	firstAnswerAt = metav1.Date(1, time.January, 1, 0, 0, 1, 0, time.UTC)
	lastAnswerAt  = metav1.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
)

// AnswerAt is the at of the answer to a request of that at: its second, in UTC. What can't be stored is the first or
// the last time that can. The admission policy refuses such a request, where there is one.
func AnswerAt(at metav1.Time) metav1.Time {
	second := metav1.NewTime(at.UTC().Truncate(time.Second))
	switch {
	case second.Time.Before(firstAnswerAt.Time):
		return firstAnswerAt
	case second.After(lastAnswerAt.Time):
		return lastAnswerAt
	}
	return second
}

// IsTo tells whether this answers the request with that at. A request's at may have a fraction of a second,
// as a person writes it; that of an answer is stored in whole seconds, and two requests of one second are one.
func (a *RequestAnswer) IsTo(at metav1.Time) bool {
	is, asked := AnswerAt(a.At), AnswerAt(at)
	return is.Equal(&asked)
}

// Answered tells whether this request has its final answer.
func (st *NodeFenceStatus) Answered(name RequestName, at metav1.Time) bool {
	a := st.Answer(name)
	return a != nil && a.IsTo(at) && a.Result != Accepted && (a.FenceNumber == 0 || a.FenceNumber == st.FenceNumber)
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
