package view

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Past is one fence of a node, over or open: who asked for it, why, what proved that the machine
// was off, and when what was done.
type Past struct {
	Node        string     `json:"node"`
	FenceNumber int64      `json:"fenceNumber"`
	Opened      *time.Time `json:"opened,omitempty"`
	// Ended is not set while the fence is open.
	Ended *time.Time `json:"ended,omitempty"`
	// Outcome is the word for its end; for an open fence, the reason for which it stands.
	Outcome api.Reason `json:"outcome,omitempty"`
	Message string     `json:"message,omitempty"`
	// Why is what it opened for.
	Why string `json:"why,omitempty"`
	// By are those who asked for it or acted on it.
	By       []string `json:"by,omitempty"`
	Policy   string   `json:"policy,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Proof is why the machine counted as off. Only the latest fence of a node has it still.
	Proof *api.Proof `json:"proof,omitempty"`
	Cuts  int32      `json:"cuts"`
	// Entries are what was done, oldest first. Only the latest fence of a node has them still.
	Entries []api.HistoryEntry `json:"entries,omitempty"`
}

// ProofType is the kind of the proof; empty if there was none.
func (p Past) ProofType() string {
	if p.Proof == nil {
		return ""
	}
	return string(p.Proof.Type)
}

// ProofWords say what the proof rests on; empty if there was none.
func (p Past) ProofWords() string {
	if p.Proof == nil {
		return ""
	}
	return proofWords(p.Proof)
}

// History is every fence that the records still have, the latest first; of one node, unless it is
// empty.
func History(fences []api.NodeFence, node string) []Past {
	var out []Past
	for i := range fences {
		if node == "" || fences[i].Name == node {
			out = append(out, pastOf(&fences[i])...)
		}
	}
	slices.SortStableFunc(out, func(a, b Past) int { return later(b.Opened).Compare(later(a.Opened)) })
	return out
}

func later(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// pastOf are the fences of one record.
func pastOf(f *api.NodeFence) []Past {
	var out []Past
	for _, p := range f.Status.Past {
		if p.FenceNumber == f.Status.FenceNumber {
			continue // the record still has all of it
		}
		x := Past{Node: f.Name, FenceNumber: p.FenceNumber, Opened: &p.OpenedAt.Time, Ended: &p.ClosedAt.Time, Outcome: p.Outcome, Cuts: p.Cuts}
		for _, a := range p.AskedBy {
			x.By = append(x.By, a.Source)
		}
		out = append(out, x)
	}
	if f.Status.FenceNumber == 0 {
		return out
	}
	return append(out, latest(f))
}

// latest is the fence that the record is about.
func latest(f *api.NodeFence) Past {
	st := &f.Status
	x := Past{
		Node: f.Name, FenceNumber: st.FenceNumber, Outcome: st.Reason, Message: st.Message, Why: triggerWords(st.Decision.Trigger),
		Policy: st.Decision.Policy.Name, Proof: st.Proof, Cuts: st.Power.Cuts, Entries: st.History,
	}
	if st.OpenedAt != nil {
		x.Opened = &st.OpenedAt.Time
	}
	if !f.Open() {
		x.Outcome = st.Outcome
		if st.PhaseSince != nil {
			x.Ended = &st.PhaseSince.Time
		}
	}
	for _, a := range st.Decision.AskedBy {
		who := a.User
		if who == "" {
			who = a.Source
		}
		if a.Reason != "" {
			who += " (" + a.Reason + ")"
		}
		x.By = append(x.By, who)
	}
	for _, a := range st.Answers {
		x.By = append(x.By, fmt.Sprintf("%s (%s: %s)", a.By, a.Request, a.Result))
	}
	if t := f.Spec.Trust; t.Names(st.Refuted) {
		x.By = append(x.By, fmt.Sprintf("%s (trusts %s since %s: %s)", t.By, st.Refuted.Device, stamp(t.At.Time), t.Reason))
	}
	for _, e := range st.Evidence {
		x.Evidence = append(x.Evidence, evidenceWords(e))
	}
	return x
}

// triggerWords say what a fence opened for.
func triggerWords(t api.Trigger) string {
	switch {
	case t.NodeCondition != nil:
		return t.NodeCondition.Type + "=" + t.NodeCondition.Status
	case t.Machine != nil:
		return "Machine " + string(t.Machine.State)
	case t.Type == api.TriggerRequest && t.Reason != "":
		return string(t.Type) + ": " + t.Reason
	}
	return string(t.Type)
}

func evidenceWords(e api.Evidence) string {
	what := string(e.Type)
	switch {
	case e.Condition != "":
		what = e.Condition + "=" + e.Status
	case e.MachineState != "":
		what = "Machine " + string(e.MachineState)
	}
	return what + " since " + stamp(e.Since.Time)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Story is one fence in lines: what it opened for, each step with its time, and the proof.
func Story(p Past) string {
	says := []string{fmt.Sprintf("fence %d of node %s, under policy %s, for %s", p.FenceNumber, p.Node, p.Policy, p.Why)}
	for _, who := range p.By {
		says = append(says, "  by        "+who)
	}
	for _, e := range p.Evidence {
		says = append(says, "  evidence  "+e)
	}
	for _, e := range p.Entries {
		says = append(says, fmt.Sprintf("  %s  %s  %s: %s", stamp(e.At.Time), e.Phase, e.Reason, e.Message))
	}
	if p.Proof != nil {
		says = append(says, "  proof     "+proofWords(p.Proof))
	}
	return Lines(says)
}

// proofWords say what a proof rests on.
func proofWords(p *api.Proof) string {
	words := string(p.Type) + " at " + stamp(p.At.Time)
	if p.By != "" {
		words += ", by " + p.By
	}
	for _, r := range p.Reads {
		words += fmt.Sprintf(", read %s at %s", r.State, stamp(r.At.Time))
	}
	return words
}
