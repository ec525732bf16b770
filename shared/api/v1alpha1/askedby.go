package v1alpha1

import (
	"slices"
	"strings"
	"time"
)

// MaxAskedBy bounds those who asked for a fence that its record names.
const MaxAskedBy = 17

// AskedBy is an event that asked for a fence, and the user who sent it.
type AskedBy struct {
	// id is the id attribute of the event. Together with source it identifies the event, which is
	// served once.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	ID string `json:"id"`
	// source is the source attribute of the event, such as /racks/west.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Source string `json:"source"`
	// type is the type attribute of the event, such as io.nodefence.request.fence.v1.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Type string `json:"type"`
	// user is the user that the event's token was issued to, or names the problem that was
	// reported. It is empty if a rule of a NodeProblemPolicy believes the source.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	User string `json:"user,omitempty"`
	// reason says why, in the words of the sender.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Reason string `json:"reason,omitempty"`
	// drain is Skip where the sender wants the node not to be drained.
	// +optional
	Drain DrainWish `json:"drain,omitempty"`
	// joinedAt is when the gate accepted the event, to open the fence or to join it. Its age
	// counts from here.
	// +required
	JoinedAt Time `json:"joinedAt"`
	// served is set if power had been cut, or work released, when the event came. The fence then
	// answers it too, and it changes nothing.
	// +optional
	Served bool `json:"served,omitempty"`
}

// Words say who asked, why, and by which event.
func (a *AskedBy) Words() string {
	who := "source " + a.Source
	if a.User != "" {
		who = a.User
	}
	if a.Reason != "" {
		who += " (" + a.Reason + ")"
	}
	return "asked for by " + who + ", event " + a.ID
}

// maxReports bounds the used-up reports that a record names.
const maxReports = 200

// UseReports notes these Kubernetes Events as used up. The last ones are kept.
func (d *Decision) UseReports(uids []string) {
	all := slices.Clone(d.Reports)
	for _, uid := range uids {
		if len(uid) <= longestUID && !slices.Contains(all, uid) {
			all = append(all, uid)
		}
	}
	d.Reports = all[max(0, len(all)-maxReports):]
}

// longestUID bounds a UID in a record. A UID of an API server has 36 letters.
const longestUID = 64

// PastAskedBy is an event that asked for a fence that is over.
type PastAskedBy struct {
	// id is the id attribute of the event.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	ID string `json:"id"`
	// source is the source attribute of the event.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Source string `json:"source"`
	// served is set if power had been cut, or work released, when the event came.
	// +optional
	Served bool `json:"served,omitempty"`
}

// Asker is the first who asked for this fence when nothing was done yet; nil if nobody did.
func (d *Decision) Asker() *AskedBy {
	for i := range d.AskedBy {
		if !d.AskedBy[i].Served {
			return &d.AskedBy[i]
		}
	}
	return nil
}

// ProblemEventType is the type of an event that reports a problem of a node.
const ProblemEventType = "io.nodefence.node.problem.v1"

// OfProblem: a reported problem asks, which is reported again as long as it stays.
func (a *AskedBy) OfProblem() bool { return a.Type == ProblemEventType }

// AsksAnew: it comes of a user, who knows what was done before. What a program reports comes again and
// again, and would have the node drained each time.
func (a *AskedBy) AsksAnew() bool { return a.User != "" && !a.OfProblem() }

// ByPerson tells whether a person asks in a name that Kubernetes has authenticated. A FenceRequest without
// spec.requestedBy, as NodeHealthCheck, Cluster API and adoption create it, and a service account, are programs.
func (a *AskedBy) ByPerson() bool {
	program := slices.ContainsFunc([]string{FenceRequestAsks, "system:serviceaccount:", "system:node:"}, func(p string) bool { return strings.HasPrefix(a.User, p) })
	return a.User != "" && !a.OfProblem() && !program
}

// FenceRequestAsks begins the user of a FenceRequest that names no author.
const FenceRequestAsks = "FenceRequest "

// Within tells whether it asks for something that was not done yet when it came, and came between
// these times.
func (a *AskedBy) Within(from, to time.Time) bool {
	return !a.Served && !a.JoinedAt.Time.Before(from) && !a.JoinedAt.After(to)
}

// Joined are those who asked, and one more. They are bounded: the oldest goes, but not the one for
// whom the fence goes on.
func (d *Decision) Joined(r AskedBy) []AskedBy {
	all := append(slices.Clone(d.AskedBy), r)
	if len(all) <= MaxAskedBy {
		return all
	}
	oldest := 0
	if !all[0].Served {
		oldest = 1
	}
	return slices.Delete(all, oldest, oldest+1)
}

// SkipWithdrawn are those who asked, where the one of this ID wants no drain any more; nil if it does
// not want that.
func (d *Decision) SkipWithdrawn(id string) []AskedBy {
	i := slices.IndexFunc(d.AskedBy, func(a AskedBy) bool { return a.ID == id && a.Drain == DrainSkip && !a.Served })
	if i < 0 {
		return nil
	}
	all := slices.Clone(d.AskedBy)
	all[i].Drain = ""
	return all
}

// AskersWithdrawn are the UIDs of WithdrawnAskersAnnotation.
func (f *NodeFence) AskersWithdrawn() []string { return f.uids(WithdrawnAskersAnnotation) }

// Withdrawn are the UIDs of WithdrawnAnnotation.
func (f *NodeFence) Withdrawn() []string { return f.uids(WithdrawnAnnotation) }

// uids are those that an annotation lists.
func (f *NodeFence) uids(annotation string) []string {
	return strings.FieldsFunc(f.Annotations[annotation], func(r rune) bool { return r == ',' })
}

// WithWithdrawn is WithdrawnAnnotation with one more UID. Those by which the record has no fence go; so there
// are no more besides than the record names who asked.
func (f *NodeFence) WithWithdrawn(uid string) string {
	all := slices.DeleteFunc(f.Withdrawn(), func(was string) bool { return was == uid || !f.ServedID(was) })
	return strings.Join(append(all, uid), ",")
}

// WithAskerWithdrawn is the annotation with one more UID. Those that do not ask for the fence that the
// record has now go; so there are no more than MaxAskedBy besides.
func (f *NodeFence) WithAskerWithdrawn(uid string) string {
	asks := func(was string) bool {
		return slices.ContainsFunc(f.Status.Decision.AskedBy, func(a AskedBy) bool { return a.ID == was })
	}
	all := slices.DeleteFunc(f.AskersWithdrawn(), func(was string) bool { return was == uid || !asks(was) })
	return strings.Join(append(all, uid), ",")
}

// reportedEvery is how soon the record notes anew that a problem is reported.
const reportedEvery = 30 * time.Second

// ReportedAgain notes in a fence that drains its node, or has, that the problem stays that asks for
// it: as long as it does, such a fence waits. False if nothing is to be saved.
func (f *NodeFence) ReportedAgain(r AskedBy) bool {
	st := &f.Status
	i := slices.IndexFunc(st.Decision.AskedBy, func(was AskedBy) bool { return !was.Served && was.OfProblem() && was.User == r.User })
	if i < 0 || st.Drain == nil || st.CutOrReleased || st.Begun() {
		return false
	}
	if ago := r.JoinedAt.Sub(st.Decision.AskedBy[i].JoinedAt.Time); ago > -reportedEvery && ago < reportedEvery {
		return false // the other way round the clock was set back since, and the time says nothing any more
	}
	st.Decision.AskedBy = slices.Clone(st.Decision.AskedBy)
	st.Decision.AskedBy[i].JoinedAt = r.JoinedAt
	return true
}

// Asked tells whether somebody asked for it when nothing was done yet.
func (p *PastFence) Asked() bool {
	return slices.ContainsFunc(p.AskedBy, func(a PastAskedBy) bool { return !a.Served })
}

// PastAskedBy is what is kept of who asked for a fence.
func (d *Decision) PastAskedBy() (all []PastAskedBy) {
	for _, a := range d.AskedBy {
		all = append(all, PastAskedBy{ID: a.ID, Source: a.Source, Served: a.Served})
	}
	return all
}

// Served tells whether a fence of this node has answered to this request already.
func (f *NodeFence) Served(r *AskedBy) bool {
	return f.served(func(id, source string) bool { return id == r.ID && source == r.Source })
}

// ServedID tells whether a request with this ID was answered, whatever its source: a token is
// bound to node and ID, and somebody who saw its event can write another source.
func (f *NodeFence) ServedID(id string) bool {
	return f.served(func(is, _ string) bool { return is == id })
}

func (f *NodeFence) served(is func(id, source string) bool) bool {
	return slices.ContainsFunc(f.Status.Decision.AskedBy, func(a AskedBy) bool { return is(a.ID, a.Source) }) ||
		slices.ContainsFunc(f.Status.Past, func(p PastFence) bool {
			return slices.ContainsFunc(p.AskedBy, func(a PastAskedBy) bool { return is(a.ID, a.Source) })
		})
}

// EndedByWithdrawal tells whether the fence was aborted because the FenceRequest that asked for it
// was withdrawn. Unlike a person's abort that says nothing of a failure of the node.
func (f *NodeFence) EndedByWithdrawal() bool {
	uids := f.Withdrawn()
	return slices.ContainsFunc(f.Status.Decision.AskedBy, func(a AskedBy) bool { return slices.Contains(uids, a.ID) })
}

// ExpiredUncut tells whether the fence ends, or has ended, because what was asked for grew old before
// anything was cut or released.
func (f *NodeFence) ExpiredUncut() bool {
	return f.Status.Outcome == RequestExpired && !f.Status.CutOrReleased
}

// LastAnswer is when the last fence of this node ended that may have answered a request; nil if
// none has. A fence that was aborted because its FenceRequest was withdrawn has answered nobody
// else: it had cut nothing, and nobody else had asked for it. Nor has one that ended uncut because what
// was asked for grew old: of a request that came later it knew nothing.
func (f *NodeFence) LastAnswer() *Time {
	if st := &f.Status; st.Phase == Finished && !f.ExpiredUncut() && !(st.Outcome == Aborted && !st.CutOrReleased && f.EndedByWithdrawal()) {
		return st.PhaseSince
	}
	uids := f.Withdrawn()
	for i := range slices.Backward(f.Status.Past) {
		p := &f.Status.Past[i]
		if p.Outcome == RequestExpired && p.Cuts == 0 {
			continue
		}
		asked := slices.ContainsFunc(p.AskedBy, func(a PastAskedBy) bool { return slices.Contains(uids, a.ID) })
		if p.Outcome != Aborted || p.Cuts > 0 || !asked {
			return &p.ClosedAt
		}
	}
	return nil
}
