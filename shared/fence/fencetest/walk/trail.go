package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The report of a fence that ends. The shadow knows since when it is tried to be written: a look may show it from then
// on, because the process may have died after the write.

// reports keeps since when the report is tried to be written.
func (sh *shadow) reports(after *api.NodeFenceStatus, act fence.Action, now time.Time) {
	if act == fence.WriteReport && sh.reported.IsZero() {
		sh.reported = now
	}
	if after.Phase != api.Recovering {
		sh.reported = time.Time{}
	}
}

// reportKey tells apart whether a fence leaves a report, and how far that is.
func (s *State) reportKey(age func(*api.Time, ...time.Duration) string) []any {
	d := facts.Facts{Decision: &s.spec.Decision, Record: &s.st}
	k := []any{d.ReportDue()}
	switch r := s.st.Report; {
	case r != nil && s.mayMissReport():
		k = append(k, r.Missing != "", r.LastTryAt != nil, age(&r.At, facts.ReportSoon, facts.ReportWithin), s.sh.reported.IsZero())
	case r != nil:
		k = append(k, r.LastTryAt != nil, s.sh.reported.IsZero())
	}
	return k
}

// mayMissReport: the report of this fence may fail to be written, or be somebody else's. A walk of each fence in which
// it may would have several times the states, and the same rules decide in all of them.
func (s *State) mayMissReport() bool { return s.isBare() || s.isManual() || s.isBegun() }

// usualReport is the report that a look shows where each write of it succeeds.
func (s *State) usualReport() *observed.Report {
	if s.mayMissReport() {
		return nil
	}
	return s.writtenReport()
}

// reportLooks show the report that was written, and one that somebody else has written.
func reportLooks(s *State, with func(func(*observed.Look))) {
	written := s.writtenReport()
	if written == nil || !s.mayMissReport() {
		return
	}
	unmarked := func(r *observed.Report, finalizer bool) {
		with(func(x *observed.Look) {
			x.Report, x.Finalizer = r, finalizer
			x.Node.Taint, x.Node.Cordoned, x.Node.OutOfService = false, false, false
		})
	}
	unmarked(written, true)
	unmarked(written, false)
	unmarked(&observed.Report{Digest: "another"}, true)
}

// writtenReport is the report as it may have been written; nil before it was tried to be.
func (s *State) writtenReport() *observed.Report {
	if s.st.Report == nil || s.sh.reported.IsZero() {
		return nil
	}
	return &observed.Report{Digest: s.st.Report.Digest}
}

// checkReport: a record is given to the next fence only after its report is written, and each report is written once.
func checkReport(s *State, sh *shadow, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, say func(bool, string)) {
	b := &s.st
	tried := !s.sh.reported.IsZero()
	if closed := a.Phase == api.Finished && b.Phase != api.Finished; (closed || act == fence.DropFinalizer) && (sh.cut || sh.served) {
		say(seen.Report != nil || tried, "S28: a fence that cut or released is closed only once its report is written, or was tried to be")
	}
	say(act != fence.WriteReport || seen.Report == nil, "S28: the report of a fence is written once")
	mine := seen.Node.Exists && seen.Node.UID == s.spec.Decision.NodeUID
	say(act != fence.WriteReport || !mine || !marksStay(b, seen), "S22: our marks are gone before the report is written")
}
