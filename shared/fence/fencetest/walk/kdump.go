package walk

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// mayDump: a dump may still hold this fence. Once power was cut it is like any other.
func (s *State) mayDump() bool { return s.spec.Decision.Settings.Kdump != nil && !s.sh.served }

// pastDump: from here it goes on like any other fence, whose walk is begun elsewhere.
func (s *State) pastDump(l *look) bool {
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
func (sh shadow) truly(spec fencetest.Given, seen observed.Look, now time.Time) bool {
	m := seen.Dump
	if m == nil {
		return !sh.dumpLast.IsZero() && now.Sub(sh.dumpLast) < 9*time.Second
	}
	return m.NodeUID == spec.Decision.NodeUID && !m.Last.After(now.Add(facts.Settle)) && now.Sub(m.Last) < 9*time.Second
}

// heardDump notes since when a dump was heard of, and its last message. What comes
// against a moving Lease is none of it.
func (sh *shadow) heardDump(s *State, seen observed.Look, now time.Time) {
	if seen.Dump == nil || !s.mayDump() || !sh.truly(s.spec, seen, now) ||
		CallElsewhere(&s.spec.Decision, &s.st, seen.Me, now) {
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
func (sh shadow) dumpRefuted(seen observed.Look) bool {
	return !sh.dumpSince.IsZero() && seen.Lease.Exists && sh.moved.After(sh.dumpSince)
}

func (w *walker) checkKdump(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
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
func kdumpLooks(s *State, now time.Time, x observed.Look, with func(func(*observed.Look))) {
	if s.mayProve() {
		proofLooks(s, now, x, with)
		return
	}
	if !s.mayDump() || s.st.Phase != "" && s.st.Phase != api.Pending && !s.atDevice() {
		return
	}
	for _, m := range []observed.Dump{
		{NodeUID: s.spec.Decision.NodeUID, Last: now},
		{NodeUID: s.spec.Decision.NodeUID, Last: now.Add(-10 * time.Second)},
		{NodeUID: s.spec.Decision.NodeUID, Last: now.Add(time.Hour)},
		{NodeUID: "uid-2", Last: now},
	} {
		m.First, m.Source, m.Count = m.Last, "10.0.0.1", 1
		with(func(y *observed.Look) { y.Dump = &m })
		if s.atDevice() {
			return
		}
	}
}

// kdumpKey is what tells states of such a fence apart.
func (s *State) kdumpKey(age func(*api.Time, ...time.Duration) string) string {
	if !s.mayDump() {
		return ""
	}
	k, r := s.st.Kdump, s.spec.Decision.Settings.Kdump
	if k == nil {
		return s.proofKey(age) + fmt.Sprint("kdump", age(s.st.OpenedAt, r.FirstMessageTimeout.Duration-1), s.sh.dumpSince.IsZero())
	}
	since := observed.StampOf(s.sh.dumpSince)
	last := observed.StampOf(s.sh.dumpLast)
	return s.proofKey(age) + fmt.Sprint("kdump", age(&k.Since, r.Timeout.Duration-1), age(&since, r.Timeout.Duration-1),
		age(&k.LastSeen, r.QuietDuration.Duration-1), age(&last, r.QuietDuration.Duration-1),
		s.st.Lease.StillSince != nil && s.st.Lease.StillSince.After(k.Since.Time), s.sh.moved.After(s.sh.dumpSince))
}
