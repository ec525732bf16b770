package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheNodesRecord: what the node has been through counts for its next fence (S26).
func TestTheNodesRecord(t *testing.T) {
	at := func(ago time.Duration) string {
		return time.Now().UTC().Add(-ago).Format("2006-01-02T15:04:05.000000Z")
	}
	finished := func(more, power string) string {
		return `{"items": [{"metadata": {"name": "a", "uid": "f", "resourceVersion": "5", "finalizers": ["nodefence.io/undo"]}, "spec": {"nodeName": "a", "requests": {"abort": {"by": "ann", "at": "2026-01-01T12:00:00Z"}}},
			"status": {"fenceNumber": 4, "phase": "Finished", "outcome": "Recovered", ` + more + `, "power": {` + power + `}}}]}`
	}
	ended := func(ago time.Duration) string {
		return `"openedAt": "` + at(ago+time.Hour) + `", "phaseSince": "` + at(ago) + `"`
	}
	cut := func(cuts string, ago time.Duration) string { return `"cuts": ` + cuts + `, "cutAt": "` + at(ago) + `"` }
	const on, off = "taint and cordon away", "the machine stays off, because its power was cut 3 times in 24 hours, and limits.perNode.cutsPerDay is 3"
	for name, tc := range map[string]struct {
		cluster   cluster
		now, last string
	}{
		"no cut":                    {running(own(bmc)).with(fences, finished(ended(time.Hour), "")), "would begin", on},
		"three cuts today":          {running(own(bmc)).with(fences, finished(ended(time.Hour), cut("3", time.Hour))), "would be held: NodeFencedTooOften: power was cut 3 times in 24 hours, allowed are 3", off[:30]},
		"three cuts, and a person":  {running(own(bmc)).changed(`"Enforce"`, `"RequireApproval"`).with(fences, finished(ended(time.Hour), cut("3", time.Hour))), "would be held: NodeFencedTooOften: power was cut 3 times in 24 hours, allowed are 3 (limits.perNode.cutsPerDay); before that a person must approve", off[:30]},
		"three cuts yesterday":      {running(own(bmc)).with(fences, finished(ended(30*time.Hour), cut("3", 30*time.Hour))), "would begin", on},
		"three cuts before its end": {running(own(bmc)).with(fences, finished(ended(time.Hour)+`, "past": [{"fenceNumber": 3, "openedAt": "`+at(3*time.Hour)+`", "closedAt": "`+at(2*time.Hour)+`", "outcome": "Recovered", "cuts": 3}]`, "")), "would be held: NodeFencedTooOften: ", off[:30]},
		"the last cut of today":     {running(own(bmc)).with(fences, finished(ended(time.Hour), cut("2", time.Hour))), "would begin", off},
		"the last cut, which holds": {running(own(bmc)).changed(`"limits": {`, `"limits": {"perNode": {"onLast": "Hold"}, `).with(fences, finished(ended(time.Hour), cut("2", time.Hour))), "would begin", on},
		"a device that refused":     {running(own(bmc)).with(fences, finished(ended(time.Minute), `"denied": [{"device": "ipmi 192.0.2.7:623", "count": 3, "at": "`+at(time.Minute)+`"}]`)), "would be held: DeviceDenied: the device refused the account 3 times: asked again after ", on},
		"one that refused long ago": {running(own(bmc)).with(fences, finished(ended(time.Hour), `"denied": [{"device": "ipmi 192.0.2.7:623", "count": 3, "at": "`+at(time.Hour)+`"}]`)), "would begin", on},
		"a newer nodefence's":       {running(own(bmc)).with(fences, finished(ended(time.Hour)+`, "minReaderVersion": 99`, "")), "would be held: a newer nodefence wrote the record of this node", on},
	} {
		t.Run(name, func(t *testing.T) {
			r, code := tc.cluster.watched().report(t)
			if code != 0 || !strings.HasPrefix(r.Now, tc.now) || (r.Held() == "") != (r.Now == wouldBegin) {
				t.Errorf("exit code %d: %s; held: %q\nwant %s", code, r.Now, r.Held(), tc.now)
			}
			if r.StaysOff == "" != (tc.last == on) {
				t.Errorf("it stays off for %q", r.StaysOff)
			}
			if len(r.Calls) == 0 || !strings.Contains(r.Calls[len(r.Calls)-1], tc.last) || slices.ContainsFunc(r.Calls, func(c string) bool { return strings.Contains(c, ": On, if") }) != (tc.last == on) {
				t.Errorf("calls %q, want %q as the last", r.Calls, tc.last)
			}
		})
	}
}
