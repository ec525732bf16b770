package facts

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// ReportDue tells whether a fence that ends leaves a FenceReport: it had begun, or a person or a program had asked for
// it or for something of it. A node that was ill for a moment, and healed before anything was decided, leaves none, and
// so does a fence under mode DryRun.
func (d *Facts) ReportDue() bool {
	st := d.Record
	switch began := d.hadBegun(); {
	case d.Decision.Policy.Name == "":
		return false // deleted before anything was decided of it
	case began:
		return true
	case d.Decision.Settings.Mode == api.ModeDryRun:
		return false
	}
	return st.Decision.Asker() != nil || len(st.Answers) > 0 || st.Outcome == api.Aborted
}

// hadBegun tells whether the gate had admitted the fence, or more had come of it.
func (d *Facts) hadBegun() bool {
	st := d.Record
	return st.CutOrReleased || d.Begun() || st.Proof != nil || st.DecidedAt != nil || st.Placed.Taint || st.Placed.Cordon ||
		st.Restarts > 0 || st.Drain != nil || st.Machine != nil
}

// ReportOver tells whether the report is not waited for any longer: its write fails, and the end of the fence must not
// fail with it (S27). While the node is healthy nobody waits for the end.
func (d *Facts) ReportOver() bool {
	within := ReportWithin
	if !d.Healthy() || d.Ending() {
		within = ReportSoon
	}
	return !d.Within(&d.Record.Report.At, within)
}

// How long the texts of a report are at most.
const (
	reportWords, reportText, reportID = 512, 256, 128
	reportAskers, reportReads         = 4, 4
)

// ReportOf is what the FenceReport of a fence says, by its record and by what people ask of it, and by nothing else:
// whoever writes the report writes what Decide has saved the digest of.
func ReportOf(node, uid string, st *api.NodeFenceStatus, asked api.Requests) api.FenceReportSpec {
	dec := &st.Decision
	d := Facts{Decision: dec, UID: uid, Record: st, Requests: asked}
	r := api.FenceReportSpec{
		NodeName: node, NodeUID: dec.NodeUID, FenceUID: d.FenceUID(), FenceNumber: st.FenceNumber,
		PolicyName: dec.Policy.Name, PolicyGeneration: dec.Policy.Generation, Mode: dec.Settings.Mode, Action: dec.Settings.Action,
		Trigger: dec.Trigger.Type, Since: dec.Trigger.Since, Why: clip.To(reportWords, d.OpenedFor()),
		AskedBy: reportedAskers(dec), Requests: d.reportedRequests(),
		AdmittedAt: st.DecidedAt, OffSentAt: st.Power.CutAt, ReleasedAt: st.Release.DoneAt, HealthyAt: st.ReadySince,
		ClosedAt: st.Report.At, OpenedAt: st.Report.At, Cuts: st.Power.Cuts,
		Proof: d.reportedProof(), Released: reportedRelease(&st.Release),
		Outcome: st.Outcome, Message: clip.To(reportWords, d.EndWords()),
	}
	if st.OpenedAt != nil {
		r.OpenedAt = *st.OpenedAt
	}
	if r.Since.IsZero() {
		r.Since = r.OpenedAt
	}
	return r
}

func reportedAskers(dec *api.Decision) (all []api.ReportAsker) {
	for _, a := range dec.AskedBy[:min(len(dec.AskedBy), reportAskers)] {
		all = append(all, api.ReportAsker{
			User: clip.To(reportText, a.User), Source: clip.To(reportText, a.Source), ID: clip.To(reportID, a.ID), Reason: clip.To(reportText, a.Reason), At: a.JoinedAt,
		})
	}
	return all
}

// reportedRequests are what people asked of this fence: those that were answered, and an abort, which has no answer.
func (d *Facts) reportedRequests() (all []api.ReportRequest) {
	reasons := map[api.RequestName]string{}
	for name, r := range map[api.RequestName]*api.Request{api.AskedApprove: d.Requests.Approve, api.AskedRetry: d.Requests.Retry, api.AskedUncordon: d.Requests.Uncordon} {
		if r != nil {
			reasons[name] = r.Reason
		}
	}
	if c := d.Requests.ConfirmOff; c != nil {
		reasons[api.AskedConfirmOff] = c.Reason
	}
	abort := d.Requests.Abort
	for _, a := range d.Record.Answers {
		if a.FenceNumber != 0 && a.FenceNumber != d.Record.FenceNumber {
			continue
		}
		if a.Request == api.AskedAbort && abort != nil {
			reasons[a.Request], abort = abort.Reason, nil
		}
		result := a.Result
		if result == api.Accepted {
			result = api.Done // as the fence ends (lastWords)
		}
		all = append(all, api.ReportRequest{Request: a.Request, By: clip.To(reportText, a.By), Reason: clip.To(reportText, reasons[a.Request]), Result: result, At: a.AnsweredAt})
	}
	if abort != nil {
		all = append(all, api.ReportRequest{Request: api.AskedAbort, By: clip.To(reportText, abort.By), Reason: clip.To(reportText, abort.Reason), At: d.Record.Report.At})
	}
	return all
}

func (d *Facts) reportedProof() *api.ReportProof {
	p := d.Record.Proof
	if p == nil {
		return nil
	}
	device := p.Device
	if i := slices.IndexFunc(d.Decision.Devices, func(b api.Binding) bool { return b.Name == p.Device }); i >= 0 {
		device = fmt.Sprintf("%s %s (%s)", d.Decision.Devices[i].Driver, d.Decision.Devices[i].Address, p.Device)
	}
	r := &api.ReportProof{
		Type: p.Type, Device: clip.To(reportText, device), Identity: clip.To(reportID, p.Identity), BootID: p.BootIDBefore, By: clip.To(reportText, p.By), At: p.At,
	}
	for _, read := range p.Reads[:min(len(p.Reads), reportReads)] {
		r.Reads = append(r.Reads, api.ReportRead{State: read.State, At: read.At})
	}
	return r
}

func reportedRelease(r *api.ReleaseRecord) *api.ReportRelease {
	if r.StartedAt == nil {
		return nil
	}
	return &api.ReportRelease{StartedAt: *r.StartedAt, Pods: r.Pods, PodsLeft: r.PodsLeft, AttachmentsLeft: r.AttachmentsLeft, TimedOut: r.TimedOut, Kept: clip.To(reportText, r.KeptPods)}
}
