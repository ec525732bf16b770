package facts

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// What becomes of a person's word where the fence stands. An answer says what is so already: no rule
// asks for one.

// HearsConfirm: where this fence stands, a person's word that the machine is off is waited for, or
// will be. Nothing ever waits for one in a fence of a Machine that has no node.
func (d *Facts) HearsConfirm() bool {
	switch {
	case d.MachineWithoutNode():
		return false
	case d.Record.Phase == api.Releasing:
		return FreedByDump(d.Record)
	}
	return d.Record.Phase.LeadsToRelease() || d.Record.Phase == api.Failed || d.IsolatedOnly()
}

// ApprovalAnswer is the answer to an approval that is not used up; empty if there is none, or if its
// answer stands. One that came at the gate keeps that answer when the fence goes on.
func (d *Facts) ApprovalAnswer() (is api.AnswerResult, says string) {
	if !Approved(d.Requests, d.Record) {
		return "", ""
	}
	was, cut := d.Record.Answer(api.AskedApprove), d.Record.CutOrReleased
	switch p := d.Record.Phase; {
	case p == api.Pending:
		return api.Accepted, "it counts for this pass, within the limits"
	case p == api.Failed && !cut:
		return api.Accepted, "the fence was given up: it counts once the fence is retried, within the limits"
	case was != nil && was.Result == api.Accepted && was.IsTo(d.Requests.Approve.At):
		return "", ""
	case p == api.Failed:
		return api.NotNeeded, "the fence was given up after power was cut, or work released: retry it, and approve it then"
	}
	return api.Accepted, "the fence has begun: the approval counts only where the fence waits for one, within the limits"
}
