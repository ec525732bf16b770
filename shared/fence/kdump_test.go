package fence_test

import (
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestARefusedLookEndsNoDump: what was heard last stands, as long as it would if
// nothing more had come.
func TestARefusedLookEndsNoDump(t *testing.T) { // S2
	last := fencetest.Start.Add(10 * time.Second)
	for name, c := range map[string]struct {
		after time.Duration // of the last message
		since time.Duration // that the dump began before it
		moved bool
		shows *observed.Dump
		holds bool
		words string
	}{
		"just after a message":            {after: time.Second, holds: true, words: "whether more come can't be seen now"},
		"near the end of the quiet":       {after: 8 * time.Second, holds: true},
		"not after it":                    {after: 9 * time.Second},
		"not after the longest":           {after: time.Second, since: 40 * time.Second},
		"not against a moving Lease":      {after: time.Second, moved: true},
		"a look that shows an old one":    {after: time.Second, shows: &observed.Dump{NodeUID: "uid-1", Last: last.Add(-time.Minute)}},
		"a look that shows another's one": {after: time.Second, shows: &observed.Dump{NodeUID: "uid-2", Last: last}},
	} {
		for _, phase := range []api.Phase{api.Pending, api.Fencing} {
			t.Run(name+", "+string(phase), func(t *testing.T) {
				at, since, now := observed.StampOf(fencetest.Start), observed.StampOf(last.Add(-c.since)), last.Add(c.after)
				f := &api.NodeFence{Spec: specs.Kdump().AsSpec(), Status: specs.Kdump().In(api.NodeFenceStatus{})}
				f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
					Phase: phase, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, BootIDBefore: "a",
					Kdump: &api.KdumpRecord{Since: since, FirstSeen: since, LastSeen: observed.StampOf(last), Source: "10.0.0.1", Count: 1},
					Lease: api.LeaseRecord{Renewed: "r0", StillSince: &at},
				}
				if phase == api.Fencing {
					decided, read := observed.StampOf(now), api.Read{State: api.PoweredOn, At: observed.StampOf(now)}
					f.Status.DecidedAt, f.Status.Placed.Taint, f.Status.Power.LastRead = &decided, true, &read
				}
				seen := fencetest.Look(f, now, "Unknown", c.moved, "a")
				seen.Dump = c.shows
				st, act := fence.Decide(f, seen, now)
				if holds := st.Reason == api.KdumpUnderWay && st.Phase == api.Pending && act == fence.None; holds != c.holds || !strings.Contains(st.Message, c.words) {
					t.Errorf("%s %s, action %q: %s", st.Phase, st.Reason, act, st.Message)
				}
				if end := last.Add(9 * time.Second); c.holds && (st.NextLook == nil || !st.NextLook.Time.Equal(observed.StampOf(end).Time)) {
					t.Errorf("next look at %v, not at %s", st.NextLook, end)
				}
			})
		}
	}
}

// TestADumpAfterTheYes: nothing is noted as sent, and the slot is free again.
func TestADumpAfterTheYes(t *testing.T) {
	at := observed.StampOf(fencetest.Start)
	f := &api.NodeFence{Spec: specs.Kdump().AsSpec(), Status: specs.Kdump().In(api.NodeFenceStatus{})}
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, DecidedAt: &at, BootIDBefore: "a",
		Placed: api.Placed{Taint: true}, Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{LastRead: &api.Read{State: api.PoweredOn, At: at}}},
	}
	seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
	seen.Dump = &observed.Dump{NodeUID: f.Status.Decision.NodeUID, First: fencetest.Start, Last: fencetest.Start, Source: "10.0.0.1", Count: 1}
	st, act := fence.Decide(f, seen, fencetest.Start)
	if act != fence.None || st.Phase != api.Pending || st.Reason != api.KdumpUnderWay || st.GivenBack == nil || st.DecidedAt != nil {
		t.Errorf("%s %s, action %q, given back %v", st.Phase, st.Reason, act, st.GivenBack)
	}
	if p := st.Power; p.OffAt != nil || p.OffCalls != 0 || p.SwitchedByUs {
		t.Errorf("noted as sent: %+v", p)
	}
}
