package view

import (
	"cmp"
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
	By     []string `json:"by,omitempty"`
	Policy string   `json:"policy,omitempty"`
	// Admitted, OffSent, Released and Healthy are when the fence had come so far.
	Admitted *time.Time `json:"admitted,omitempty"`
	OffSent  *time.Time `json:"offSent,omitempty"`
	Released *time.Time `json:"released,omitempty"`
	Healthy  *time.Time `json:"healthy,omitempty"`
	Evidence []string   `json:"evidence,omitempty"`
	// Proof is why the machine counted as off.
	Proof *api.Proof `json:"proof,omitempty"`
	// Work says what was released.
	Work string `json:"work,omitempty"`
	Cuts int32  `json:"cuts"`
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

// History is every fence that there is a FenceReport of, and the latest one of each record, the latest first; of one
// node, unless it is empty.
func History(reports []api.FenceReport, fences []api.NodeFence, node string) []Past {
	var out []Past
	reported := map[string]int{}
	for i := range reports {
		if node == "" || reports[i].Spec.NodeName == node {
			reported[reports[i].Name] = len(out)
			out = append(out, reportedFence(&reports[i].Spec))
		}
	}
	for i := range fences {
		f := &fences[i]
		if f.Status.FenceNumber == 0 || node != "" && f.Name != node {
			continue
		}
		of, is := reported[api.ReportName(f.UID, f.Status.FenceNumber)]
		if !is {
			out = append(out, latest(f))
			continue
		}
		out[of].Entries, out[of].Evidence = f.Status.History, evidenceOf(f)
	}
	slices.SortStableFunc(out, func(a, b Past) int { return later(b.Opened).Compare(later(a.Opened)) })
	return out
}

// Since are those of them that are open, or ended at this time or later.
func Since(past []Past, from time.Time) []Past {
	return slices.DeleteFunc(past, func(p Past) bool { return p.Ended != nil && p.Ended.Before(from) })
}

// reportedFence is a fence as its report tells of it.
func reportedFence(r *api.FenceReportSpec) Past {
	x := Past{
		Node: r.NodeName, FenceNumber: r.FenceNumber, Opened: &r.OpenedAt.Time, Ended: &r.ClosedAt.Time, Outcome: r.Outcome, Message: r.Message,
		Why: r.Why, Policy: r.PolicyName, Cuts: r.Cuts, Admitted: timeOf(r.AdmittedAt), OffSent: timeOf(r.OffSentAt), Released: timeOf(r.ReleasedAt), Healthy: timeOf(r.HealthyAt),
	}
	for _, a := range r.AskedBy {
		x.By = append(x.By, askerWords(a.User, a.Source, a.Reason))
	}
	for _, q := range r.Requests {
		words := string(q.Request)
		if q.Result != "" {
			words += ": " + string(q.Result)
		}
		if q.Reason != "" {
			words += ", " + q.Reason
		}
		x.By = append(x.By, fmt.Sprintf("%s (%s)", q.By, words))
	}
	if p := r.Proof; p != nil {
		x.Proof = &api.Proof{
			Type: p.Type, FenceUID: r.FenceUID, FenceNumber: r.FenceNumber, NodeUID: r.NodeUID, BootIDBefore: p.BootID, Device: p.Device, Identity: p.Identity, By: p.By, At: p.At,
		}
		for _, read := range p.Reads {
			x.Proof.Reads = append(x.Proof.Reads, api.Read{State: read.State, At: read.At})
		}
	}
	if w := r.Released; w != nil {
		x.Work = workWords(w.Pods, w.PodsLeft, w.AttachmentsLeft, w.TimedOut)
	}
	return x
}

func timeOf(t *api.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

func askerWords(user, source, reason string) string {
	who := cmp.Or(user, source)
	if reason != "" {
		who += " (" + reason + ")"
	}
	return who
}

// workWords say what was released, and what was left.
func workWords(pods, podsLeft, attachmentsLeft int32, timedOut bool) string {
	words := Count(pods, "pod", "pods")
	if podsLeft+attachmentsLeft > 0 {
		words += fmt.Sprintf(", %d and %s left", podsLeft, Count(attachmentsLeft, "attachment", "attachments"))
	}
	if timedOut {
		words += ", timed out"
	}
	return words
}

func later(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// latest is the fence that the record is about.
func latest(f *api.NodeFence) Past {
	st := &f.Status
	x := Past{
		Node: f.Name, FenceNumber: st.FenceNumber, Outcome: st.Reason, Message: st.Message, Why: triggerWords(st.Decision.Trigger),
		Policy: st.Decision.Policy.Name, Proof: st.Proof, Cuts: st.Power.Cuts, Entries: st.History, Evidence: evidenceOf(f),
		Admitted: timeOf(st.DecidedAt), OffSent: timeOf(st.Power.CutAt), Released: timeOf(st.Release.DoneAt), Healthy: timeOf(st.ReadySince),
	}
	if r := &st.Release; r.StartedAt != nil {
		x.Work = workWords(r.Pods, r.PodsLeft, r.AttachmentsLeft, r.TimedOut)
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
		x.By = append(x.By, askerWords(a.User, a.Source, a.Reason))
	}
	for _, a := range st.Answers {
		x.By = append(x.By, fmt.Sprintf("%s (%s: %s)", a.By, a.Request, a.Result))
	}
	if t := f.Spec.Trust; t.Names(st.Refuted) {
		x.By = append(x.By, fmt.Sprintf("%s (trusts %s since %s: %s)", t.By, st.Refuted.Device, stamp(t.At.Time), t.Reason))
	}
	return x
}

// evidenceOf are what is wrong with the node, in words.
func evidenceOf(f *api.NodeFence) (all []string) {
	for _, e := range f.Status.Evidence {
		all = append(all, evidenceWords(e))
	}
	return all
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
	says := []string{fmt.Sprintf("fence %d of node %s, under policy %s: %s", p.FenceNumber, p.Node, p.Policy, p.Why)}
	for _, who := range p.By {
		says = append(says, "  by        "+who)
	}
	for _, e := range p.Evidence {
		says = append(says, "  evidence  "+e)
	}
	if len(p.Entries) == 0 {
		says = append(says, p.moments()...)
	}
	for _, e := range p.Entries {
		says = append(says, fmt.Sprintf("  %s  %s  %s: %s", stamp(e.At.Time), e.Phase, e.Reason, e.Message))
	}
	if p.Proof != nil {
		says = append(says, "  proof     "+proofWords(p.Proof))
	}
	return Lines(says)
}

// moments are the times of a fence of which the report alone is left.
func (p Past) moments() (all []string) {
	for _, m := range []struct {
		what string
		at   *time.Time
	}{{"opened", p.Opened}, {"admitted", p.Admitted}, {"Off sent", p.OffSent}, {"released " + p.Work, p.Released}, {"node healthy", p.Healthy}, {"ended: " + p.Message, p.Ended}} {
		if m.at != nil {
			all = append(all, "  "+stamp(*m.at)+"  "+m.what)
		}
	}
	return all
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
