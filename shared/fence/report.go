package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// A fence that ends leaves a FenceReport, which outlives its record (S28). It is written after our marks are gone and
// before the finalizer is: a record that is deleted stays until then, and the node's next fence can't use it before.
//
// What is written is saved first, by its digest. If the process dies before the write, the next look sees no report,
// and it is written. If it dies after the write, the next look sees the report with the saved digest, and goes on. So
// each fence has one report, whatever its record becomes in between.
//
// Nothing is released in Recovering, so that a report which can't be written holds up no release of this fence. The
// next fence of the node waits for it, and that for a bounded time (S27).

// noteReport notes when a fence that leaves a report was ready to be closed, and what the report will say, so that the
// write of the report needs no further save.
func (d *decision) noteReport() {
	if d.Record.Report == nil && d.ReportDue() {
		d.Record.Report = &api.ReportRecord{Name: api.ReportName(d.FenceUID(), d.Record.FenceNumber), At: d.Time()}
		d.noteContent()
	}
}

// noteContent notes the digest of what the report says by the record as it stands.
func (d *decision) noteContent() {
	content := facts.ReportOf(d.Node, d.UID, d.Record, d.Requests)
	d.Record.Report.Digest = content.Digest()
}

// report has the report written, and goes on once it is there.
func (d *decision) report() outcome {
	r, seen := d.Record.Report, d.Seen.Report
	switch {
	case r == nil || r.Missing != "" || seen != nil && seen.Digest == r.Digest:
		return goOn
	case seen != nil:
		return d.withoutReport(fmt.Sprintf("FenceReport %s is there already with another content, and stays as it is", r.Name))
	case d.ReportOver() && r.LastTryAt != nil:
		return d.withoutReport(fmt.Sprintf("FenceReport %s could not be written", r.Name))
	case d.ReportOver():
		r.LastTryAt = d.At(0) // the marks may have taken that long, so that it was never tried
	}
	d.noteContent()
	return d.carryOut(WriteReport)
}

// withoutReport goes on without the report of this fence, and says so.
func (d *decision) withoutReport(why string) outcome {
	d.Record.Report.Missing = why
	d.aside(api.ReportNotWritten, why+"; the fence ends without it")
	return goOn
}

// ReportOf returns the FenceReport of a fence in whose record a report is noted.
func ReportOf(f *api.NodeFence) *api.FenceReport {
	r := &api.FenceReport{Spec: facts.ReportOf(f.Spec.NodeName, string(f.UID), &f.Status, f.Requests())}
	r.Name = f.Status.Report.Name
	return r
}
