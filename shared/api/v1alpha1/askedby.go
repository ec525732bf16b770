package v1alpha1

import "slices"

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

// SkipsDrain is who wants the node not to be drained; nil if nobody does who asked when nothing
// was done yet.
func (d *Decision) SkipsDrain() *AskedBy {
	for i := range d.AskedBy {
		if a := &d.AskedBy[i]; !a.Served && a.Drain == DrainSkip {
			return a
		}
	}
	return nil
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
	uid := f.Annotations[WithdrawnAnnotation]
	return uid != "" && slices.ContainsFunc(f.Status.Decision.AskedBy, func(a AskedBy) bool { return a.ID == uid })
}

// LastAnswer is when the last fence of this node ended that may have answered a request; nil if
// none has. A fence that was aborted because its FenceRequest was withdrawn has answered nobody
// else: it had cut nothing, and nobody else had asked for it.
func (f *NodeFence) LastAnswer() *Time {
	if st := &f.Status; st.Phase == Finished && !(st.Outcome == Aborted && !st.CutOrReleased && f.EndedByWithdrawal()) {
		return st.PhaseSince
	}
	uid := f.Annotations[WithdrawnAnnotation]
	for i := range slices.Backward(f.Status.Past) {
		p := &f.Status.Past[i]
		asked := slices.ContainsFunc(p.AskedBy, func(a PastAskedBy) bool { return a.ID == uid })
		if p.Outcome != Aborted || p.Cuts > 0 || !asked {
			return &p.ClosedAt
		}
	}
	return nil
}
