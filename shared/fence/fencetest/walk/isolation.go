package walk

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What a walk adds for a device of the isolation: one that must be cut before the
// power is, up to where power takes over, and one that stands in for the power. All
// calls of such a walk are to that one device, so that what is held of the machine's
// own device (S7, S8, S9, S12) is held of this one. Where a Lease alone spoke at first the
// power is read before that device is: that is walked from there to the first cut.

// restoringAfter are fences whose machine was proven off, that give its network back
// now: it was switched on again, or stays off.
func restoringAfter(specs []fencetest.Given) []State {
	var all []State
	for _, spec := range specs {
		if len(spec.Decision.Isolation()) == 0 || spec.Decision.Power(0) == nil {
			continue
		}
		at := observed.StampOf(fencetest.Start)
		s := State{now: fencetest.Start, spec: spec, sh: shadow{cut: true, served: true, freed: api.ProofSeenOff, boot: "a", moved: fencetest.Start, renewed: "r0"},
			st: api.NodeFenceStatus{
				Phase: api.Restoring, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, CutOrReleased: true,
				Placed: api.Placed{Taint: true, Cordon: true}, Lease: api.LeaseRecord{Renewed: "r0", StillSince: &at},
				Isolation: []api.IsolationRecord{{DeviceRecord: api.DeviceRecord{SwitchedByUs: true}, Device: "network-1", Driver: "switch", Address: "7", SeenCutAt: &at}},
				Release:   api.ReleaseRecord{StartedAt: &at, DoneAt: &at, By: api.ProofSeenOff, BootID: "a"},
				Restore:   &api.RestoreRecord{Then: api.Recovering, Reason: api.SeenOn},
			}}
		off := s
		off.st.Isolation, off.st.Restore = slices.Clone(s.st.Isolation), &api.RestoreRecord{Then: api.Fenced, Reason: api.StaysOff}
		tainted := s // somebody switched it on while its release waited
		tainted.st.Isolation, tainted.st.Placed.OutOfService, tainted.st.Release.DoneAt = slices.Clone(s.st.Isolation), true, nil
		all = append(all, s, off, tainted)
	}
	return all
}

// readOffAlone is a fence for which its Lease alone speaks: its machine was read off, its node
// is isolated, and nothing was cut. Real looks lead there.
func readOffAlone(s State) []State {
	w := newWalker(fence.Decide, Options{})
	for s.st.Phase != api.Fencing {
		now := s.now.Add(time.Second) // so that no condition has held for its time
		l := look{dt: time.Second, seen: usual(&s, now, "Unknown", false, "a")}
		if c := s.st.Claim; c != nil {
			l.seen.Me, l.seen.Call = c.Holder, &observed.CallResult{Call: c.Call, Power: "Off", At: now}
		}
		w.step(&s, &l)
		s = w.next
	}
	return []State{s}
}

func (s *State) cutOnly() bool { return facts.CutOnly(&s.spec.Decision) }

// pastCut: from here it goes on like any other fence, whose walk is begun elsewhere.
func (s *State) pastCut() bool {
	if len(s.spec.Decision.Isolation()) == 0 {
		return false
	}
	rebooted := s.st.BootIDBefore == "b" && s.st.Release.By == "" // the same over again, under another name
	if s.spec.Decision.Settings.EarlyProbe != nil {
		// Before it is like any other that a Lease speaks for, and from the first cut on like any
		// other that is cut off first, as long as its condition holds (limits.go).
		return !s.isEarly() || s.sh.cutOff || s.st.Phase != api.Fencing && s.st.Phase != api.Isolating
	}
	return rebooted || s.st.Phase == api.Fencing || s.st.Phase == api.PoweringOn || s.st.Phase == api.Recovering
}

// readOn: the device that is spoken with was read with power, or access, last.
func (s *State) readOn() bool {
	r := s.st.Power.LastRead
	if len(s.st.Isolation) > 0 && !s.atDevice() {
		r = s.st.Isolation[0].LastRead
	}
	return r != nil && r.State == api.PoweredOn
}

// readFrom keeps whose answer this is: a row of answers is of one device (S3).
func (sh *shadow) readFrom(dec *api.Decision, device string, c *observed.CallResult) {
	if sh.readOf != device {
		sh.reads, sh.readOf = nil, device
	}
	if cuts := dec.Isolation(); len(cuts) > 0 && cuts[0].Name == device {
		sh.cutOff = api.StateOf(c.Power) == api.PoweredOff && !c.Wrong
	}
}

// delayAt is how long a call of this level may take effect late.
func delayAt(spec *fencetest.Given, level int32) time.Duration {
	if len(spec.Decision.Isolation()) > 0 {
		return spec.Decision.Isolation()[0].EffectDelay.Duration
	}
	return spec.Decision.Power(level).EffectDelay.Duration
}

// freedBy keeps what was really released.
func (sh *shadow) freedBy(s *State, after *api.NodeFenceStatus, act fence.Action) {
	if len(s.spec.Decision.Isolation()) > 0 && act == fence.Release && sh.freed == "" {
		sh.freed, sh.boot = after.Proof.Type, after.Proof.BootIDBefore
	}
}

func (s *State) cutKey(age func(*api.Time, ...time.Duration) string) string {
	if len(s.spec.Decision.Isolation()) == 0 {
		return ""
	}
	r, rel := api.IsolationRecord{}, s.st.Release
	if len(s.st.Isolation) > 0 {
		r = s.st.Isolation[0]
	}
	read := func(x *api.Read, limits ...time.Duration) string {
		if x == nil {
			return "-"
		}
		return string(x.State) + age(&x.At, limits...)
	}
	k := fmt.Sprint("cut", s.cutOnly(), r.SwitchedByUs, r.SeenCutAt != nil, r.GaveUp, r.Abandoned, s.sh.cut,
		rel.By, rel.BootID, len(rel.Volumes), rel.RebootOnly, s.sh.freed, s.sh.boot)
	switch s.st.Phase {
	case api.Isolating, api.Releasing:
		k += fmt.Sprint(r.Tries, s.st.BootIDBefore, read(r.LastRead, promisedReadOf(&s.spec.Decision), promisedProofOf(&s.spec.Decision)), read(r.FirstCut, facts.Settle-1, promisedProofOf(&s.spec.Decision)),
			age(r.OffAt, promisedShows(&s.spec.Decision)-1), age(r.NotBefore, 0))
	case api.Restoring:
		k += fmt.Sprint(read(r.LastRead, promisedReadOf(&s.spec.Decision)), age(r.OnAt, promisedShows(&s.spec.Decision)-1), age(r.NotBefore, 0), age(r.EffectUntil, 0),
			s.st.Restore != nil && s.st.Restore.Then == api.Fenced)
		if since := s.st.Lease.StillSince; rel.By != "" && since != nil {
			k += fmt.Sprint(age(since, 2*fencetest.Renewal), since.After(s.st.PhaseSince.Time), since.After(rel.StartedAt.Time))
		}
	}
	return k
}

// cutLooks: what the kubelet says that it uses.
func cutLooks(s *State, with func(func(*observed.Look))) {
	if len(s.spec.Decision.Isolation()) == 0 {
		return
	}
	if s.st.Phase == api.Restoring {
		with(func(y *observed.Look) { y.Node.VolumesInUse = []string{"v"} })
		if s.st.Placed.OutOfService {
			with(func(y *observed.Look) { y.Node.OutOfService, y.Cleared = false, true })
		}
	}
}

// checkCut holds what is promised of such devices.
func checkCut(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if len(s.spec.Decision.Isolation()) == 0 {
		return
	}
	b := &s.st
	last := api.Read{}
	if n := len(sh.reads); n > 0 {
		last = sh.reads[n-1]
	}
	power := a.Phase == api.Probing || a.Phase == api.Fencing
	if act.Device() {
		say((a.Claim.Device == s.spec.Decision.Isolation()[0].Name) != power, "S7: the claim names the device that is spoken with")
	}
	say(act != fence.Off || !power || sh.cutOff, "isolation: no Off of the power before what must be cut first is seen cut")
	if b.Phase == api.Isolating && a.Phase == api.Fencing && f.Spec.Requests.ConfirmOff == nil && (!s.isEarly() || sh.sickDue(now)) {
		say(last.State == api.PoweredOff && !sh.wrong, "isolation: the power is not cut before what must be cut off was seen so")
	}
	if a.Phase == api.Releasing && b.Phase == api.Isolating {
		ok := len(sh.reads) == 2 && last.State == api.PoweredOff && !sh.wrong && last.At.Sub(sh.reads[0].At.Time) >= facts.Settle
		say(ok && a.Proof != nil && a.Proof.Type == api.ProofStorageCut, "S1: storage is proven cut by two reads, a settle apart, with nothing else between them")
		say(now.Sub(last.At.Time) <= promisedProofOf(&s.spec.Decision), "S3: the proof of a cut is fresh")
	}
	if s.cutOnly() {
		say(!a.Placed.OutOfService, "S1: no out-of-service taint where only storage is cut")
		say(act != fence.Release || facts.Covered(&api.NodeFence{Spec: f.Spec, Status: *a}) != nil || a.Proof.Type == api.ProofConfirmed, "S1: only what the cut covers is released")
	}
	if act == fence.On {
		say(mayWrite(s, sh, f, seen), "S1: access is not given back to a machine on which what was released may still write")
	}
	if left := a.Phase != b.Phase && (a.Phase == api.Recovering && a.Outcome != api.SentBack || a.Phase == api.Finished) && b.Phase != api.Recovering; left && sh.cut { // who is sent back owes it still
		ended := seen.Deleting || f.Spec.Requests.Abort != nil
		say(ended && a.Isolation[0].Abandoned || len(sh.reads) > 0 && last.State == api.PoweredOn && !sh.wrong, "S25: no recovery before what we cut off was seen given back")
	}
}

// mayWrite is false if what was released may still write from this machine.
func mayWrite(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look) bool {
	mine := seen.Node.Exists && seen.Node.UID == f.Status.Decision.NodeUID
	switch {
	case sh.freed == "":
		return mine || s.st.Release.DoneAt != nil || s.st.Power.LastRead != nil && s.st.Power.LastRead.State == api.PoweredOff
	case mine && seen.Node.BootID != "" && seen.Node.BootID != sh.boot:
		return true
	case sh.freed != api.ProofStorageCut:
		return !mine || !seen.Lease.Exists || !sh.moved.After(s.st.Release.StartedAt.Time)
	}
	return mine && seen.Node.Ready() && !s.st.Release.RebootOnly && !slices.Contains(seen.Node.VolumesInUse, "v")
}
