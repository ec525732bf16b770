package fence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// kdumpSpec is of a fence that waits for the machine's dump.
func kdumpSpec() fencetest.Given {
	s := fencetest.Spec()
	d := func(s time.Duration) metav1.Duration { return metav1.Duration{Duration: s * time.Second} }
	s.Decision.Settings.Kdump = &api.KdumpSettings{FirstMessageTimeout: d(5), QuietDuration: d(9), Timeout: d(40)}
	return s
}

// mayDump: a dump may still hold this fence. Once power was cut it is like any other.
func (s *state) mayDump() bool { return s.spec.Decision.Settings.Kdump != nil && !s.sh.served }

// pastDump: from here it goes on like any other fence, whose walk is begun elsewhere.
func (s *state) pastDump(l *look) bool {
	if s.spec.Decision.Settings.Kdump == nil || s.byDump() {
		return false
	}
	if s.mayProve() && s.st.Phase == api.Fencing {
		return true // see TestNothingLaterReadsWhatADumpLeft
	}
	return s.sh.served || s.st.Phase == api.Releasing || s.st.Phase == api.PoweringOn || s.st.Phase == api.Recovering || l.confirm
}

// truly: messages of this node's dump really arrive, by what the look shows, or by
// the last that did if it shows nothing.
func (sh shadow) truly(spec fencetest.Given, seen fence.Seen, now time.Time) bool {
	m := seen.Dump
	if m == nil {
		return !sh.dumpLast.IsZero() && now.Sub(sh.dumpLast) < 9*time.Second
	}
	return m.NodeUID == spec.Decision.NodeUID && !m.Last.After(now.Add(fence.Settle)) && now.Sub(m.Last) < 9*time.Second
}

// heardDump notes since when a dump was heard of, and its last message. What comes
// against a moving Lease is none of it.
func (sh *shadow) heardDump(s *state, seen fence.Seen, now time.Time) {
	if seen.Dump == nil || !s.mayDump() || !sh.truly(s.spec, seen, now) ||
		fence.CoreOf(&s.spec.Decision, s.st, seen, now).Elsewhere() {
		return
	}
	if sh.dumpSince.IsZero() {
		sh.dumpSince, sh.dumpBoot = now, seen.Dump.BootID
	}
	if !sh.dumpRefuted(seen) {
		sh.dumpLast = seen.Dump.Last
	}
}

// dumpRefuted: the Lease moved since a dump was first heard of.
func (sh shadow) dumpRefuted(seen fence.Seen) bool {
	return !sh.dumpSince.IsZero() && seen.Lease.Exists && sh.moved.After(sh.dumpSince)
}

func (w *walker) checkKdump(s *state, sh *shadow, f *api.NodeFence, seen *fence.Seen, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	r := f.Status.Decision.Settings.Kdump
	if r == nil || f.Spec.Requests.ConfirmOff != nil || s.st.OpenedAt == nil {
		return
	}
	moved := sh.dumpRefuted(*seen)
	late := !sh.dumpSince.IsZero() && now.Sub(sh.dumpSince) >= r.Timeout.Duration
	waits := sh.dumpSince.IsZero() && now.Sub(s.st.OpenedAt.Time) < r.FirstMessageTimeout.Duration
	if act == fence.Off && !sh.cut {
		say(late || moved || !sh.truly(fencetest.GivenBy(f), *seen, now), "kdump: no first Off while a dump is under way")
		say(!waits, "kdump: no first Off before a first message was waited for")
	}
	if c := s.st.Claim; c != nil && c.Holder != seen.Me || !clear(seen.Brakes) {
		return // the hold is another's, or an earlier one, of which nothing is decided now
	}
	if a.Reason == api.KdumpUnderWay && a.Phase == api.Pending && s.st.Phase == api.Pending && act == fence.None {
		say(waits || !late, "kdump: a dump is waited for no longer than the policy says")
		say(waits || sh.truly(fencetest.GivenBy(f), *seen, now), "kdump: nothing but messages of this node's dump holds it")
		say(waits || !moved, "kdump: messages against a moving Lease hold nothing")
	}
}

// kdumpLooks vary what is heard of a dump.
func kdumpLooks(s *state, now time.Time, x fence.Seen, with func(func(*fence.Seen))) {
	if s.mayProve() {
		proofLooks(s, now, x, with)
		return
	}
	if !s.mayDump() || s.st.Phase != "" && s.st.Phase != api.Pending && s.st.Phase != api.Fencing {
		return
	}
	for _, m := range []fence.Dump{
		{NodeUID: s.spec.Decision.NodeUID, Last: now},
		{NodeUID: s.spec.Decision.NodeUID, Last: now.Add(-10 * time.Second)},
		{NodeUID: s.spec.Decision.NodeUID, Last: now.Add(time.Hour)},
		{NodeUID: "uid-2", Last: now},
	} {
		m.First, m.Source, m.Count = m.Last, "10.0.0.1", 1
		with(func(y *fence.Seen) { y.Dump = &m })
		if s.st.Phase == api.Fencing {
			return
		}
	}
}

// kdumpKey is what tells states of such a fence apart.
func (s *state) kdumpKey(age func(*api.Time, ...time.Duration) string) string {
	if !s.mayDump() {
		return ""
	}
	k, r := s.st.Kdump, s.spec.Decision.Settings.Kdump
	if k == nil {
		return s.proofKey(age) + fmt.Sprint("kdump", age(s.st.OpenedAt, r.FirstMessageTimeout.Duration-1), s.sh.dumpSince.IsZero())
	}
	since := fence.StampOf(s.sh.dumpSince)
	last := fence.StampOf(s.sh.dumpLast)
	return s.proofKey(age) + fmt.Sprint("kdump", age(&k.Since, r.Timeout.Duration-1), age(&since, r.Timeout.Duration-1),
		age(&k.LastSeen, r.QuietDuration.Duration-1), age(&last, r.QuietDuration.Duration-1),
		s.st.Lease.StillSince != nil && s.st.Lease.StillSince.After(k.Since.Time), s.sh.moved.After(s.sh.dumpSince))
}

// brokenKdump are Decides that lack one guard of a dump each.
var brokenKdump = map[string]decider{
	"does not hear a dump": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { s.Dump = nil }),
	"does not hear one that begins after the yes": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if f.Status.Phase == api.Fencing {
			s.Dump = nil
		}
	}),
	"takes a refused look for the end of a dump": before(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		if k := f.Status.Kdump; k != nil && s.Dump == nil {
			k.LastSeen = fence.StampOf(now.Add(-f.Status.Decision.Settings.Kdump.QuietDuration.Duration))
		}
	}),
	"does not wait for a first message": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		r := *f.Status.Decision.Settings.Kdump
		r.FirstMessageTimeout.Duration = 0
		f.Status.Decision.Settings.Kdump = &r
	}),
	"waits for a dump for ever": before(func(f *api.NodeFence, _ *fence.Seen, now time.Time) {
		if k := f.Status.Kdump; k != nil {
			k.Since = fence.StampOf(now)
		}
	}),
	"hears of another node's dump": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if s.Dump != nil {
			m := *s.Dump
			m.NodeUID = f.Status.Decision.NodeUID
			s.Dump = &m
		}
	}),
	"takes an old message for a new one": before(func(_ *api.NodeFence, s *fence.Seen, now time.Time) {
		if s.Dump != nil && s.Dump.Last.Before(now) {
			m := *s.Dump
			m.Last = now
			s.Dump = &m
		}
	}),
	"takes a message of the future for a new one": before(func(_ *api.NodeFence, s *fence.Seen, now time.Time) {
		if s.Dump != nil && s.Dump.Last.After(now) {
			m := *s.Dump
			m.Last = now
			s.Dump = &m
		}
	}),
	"believes a dump against a moving Lease": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if f.Status.Kdump != nil {
			s.Lease.Exists = false
		}
	}),
}

// TestARefusedLookEndsNoDump: what was heard last stands, as long as it would if
// nothing more had come.
func TestARefusedLookEndsNoDump(t *testing.T) { // S2
	last := fencetest.Start.Add(10 * time.Second)
	for name, c := range map[string]struct {
		after time.Duration // of the last message
		since time.Duration // that the dump began before it
		moved bool
		shows *fence.Dump
		holds bool
		words string
	}{
		"just after a message":            {after: time.Second, holds: true, words: "whether more come can't be seen now"},
		"near the end of the quiet":       {after: 8 * time.Second, holds: true},
		"not after it":                    {after: 9 * time.Second},
		"not after the longest":           {after: time.Second, since: 40 * time.Second},
		"not against a moving Lease":      {after: time.Second, moved: true},
		"a look that shows an old one":    {after: time.Second, shows: &fence.Dump{NodeUID: "uid-1", Last: last.Add(-time.Minute)}},
		"a look that shows another's one": {after: time.Second, shows: &fence.Dump{NodeUID: "uid-2", Last: last}},
	} {
		for _, phase := range []api.Phase{api.Pending, api.Fencing} {
			t.Run(name+", "+string(phase), func(t *testing.T) {
				at, since, now := fence.StampOf(fencetest.Start), fence.StampOf(last.Add(-c.since)), last.Add(c.after)
				f := &api.NodeFence{Spec: kdumpSpec().AsSpec(), Status: kdumpSpec().In(api.NodeFenceStatus{})}
				f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
					Phase: phase, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, BootIDBefore: "a",
					Kdump: &api.KdumpRecord{Since: since, FirstSeen: since, LastSeen: fence.StampOf(last), Source: "10.0.0.1", Count: 1},
					Lease: api.LeaseRecord{Renewed: "r0", StillSince: &at},
				}
				if phase == api.Fencing {
					decided, read := fence.StampOf(now), api.Read{State: api.PoweredOn, At: fence.StampOf(now)}
					f.Status.DecidedAt, f.Status.Placed.Taint, f.Status.Power.LastRead = &decided, true, &read
				}
				seen := usual(&state{spec: fencetest.GivenBy(f), st: f.Status, sh: shadow{renewed: "r0"}}, now, "Unknown", c.moved, "a")
				seen.Dump = c.shows
				st, act := fence.Decide(f, seen, now)
				if holds := st.Reason == api.KdumpUnderWay && st.Phase == api.Pending && act == fence.None; holds != c.holds || !strings.Contains(st.Message, c.words) {
					t.Errorf("%s %s, action %q: %s", st.Phase, st.Reason, act, st.Message)
				}
				if end := last.Add(9 * time.Second); c.holds && (st.NextLook == nil || !st.NextLook.Time.Equal(fence.StampOf(end).Time)) {
					t.Errorf("next look at %v, not at %s", st.NextLook, end)
				}
			})
		}
	}
}

// TestADumpAfterTheYes: nothing is noted as sent, and the slot is free again.
func TestADumpAfterTheYes(t *testing.T) {
	at := fence.StampOf(fencetest.Start)
	f := &api.NodeFence{Spec: kdumpSpec().AsSpec(), Status: kdumpSpec().In(api.NodeFenceStatus{})}
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, DecidedAt: &at, BootIDBefore: "a",
		Placed: api.Placed{Taint: true}, Power: api.PowerRecord{LastRead: &api.Read{State: api.PoweredOn, At: at}},
	}
	seen := usual(&state{spec: fencetest.GivenBy(f), st: f.Status}, fencetest.Start, "Unknown", false, "a")
	seen.Dump = &fence.Dump{NodeUID: f.Status.Decision.NodeUID, First: fencetest.Start, Last: fencetest.Start, Source: "10.0.0.1", Count: 1}
	st, act := fence.Decide(f, seen, fencetest.Start)
	if act != fence.None || st.Phase != api.Pending || st.Reason != api.KdumpUnderWay || st.GivenBack == nil || st.DecidedAt != nil {
		t.Errorf("%s %s, action %q, given back %v", st.Phase, st.Reason, act, st.GivenBack)
	}
	if p := st.Power; p.OffAt != nil || p.OffCalls != 0 || p.SwitchedByUs {
		t.Errorf("noted as sent: %+v", p)
	}
}
