package walk

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// What a walk adds for a device of the isolation: one that must be cut before the
// power is, up to where power takes over, and one that stands in for the power. All
// calls of such a walk are to that one device, so that what is held of the machine's
// own device (S7, S8, S9, S12) is held of this one.

// restoringAfter are fences whose machine was proven off, that give its network back
// now: it was switched on again, or stays off.
func restoringAfter(specs []fencetest.Given) []State {
	var all []State
	for _, spec := range specs {
		if len(spec.Decision.Isolation()) == 0 || spec.Decision.Power(0) == nil {
			continue
		}
		at := fence.StampOf(fencetest.Start)
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
		all = append(all, s, off)
	}
	return all
}

func (s *State) cutOnly() bool { return fence.CutOnly(&s.spec.Decision) }

// pastCut: from here it goes on like any other fence, whose walk is begun elsewhere.
func (s *State) pastCut() bool {
	if len(s.spec.Decision.Isolation()) == 0 {
		return false
	}
	rebooted := s.st.BootIDBefore == "b" && s.st.Release.By == "" // the same over again, under another name
	return rebooted || s.st.Phase == api.Fencing || s.st.Phase == api.PoweringOn || s.st.Phase == api.Recovering
}

// readOn: the device that is spoken with was read with power, or access, last.
func (s *State) readOn() bool {
	r := s.st.Power.LastRead
	if len(s.st.Isolation) > 0 {
		r = s.st.Isolation[0].LastRead
	}
	return r != nil && r.State == api.PoweredOn
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
		k += fmt.Sprint(r.Tries, s.st.BootIDBefore, read(r.LastRead, promisedReadOf(&s.spec.Decision), fence.ProofValidity), read(r.FirstCut, fence.Settle-1, fence.ProofValidity),
			age(r.OffAt, s.spec.Decision.Settings.Power.OffTimeout.Duration-1), age(r.NotBefore, 0))
	case api.Restoring:
		k += fmt.Sprint(read(r.LastRead, promisedReadOf(&s.spec.Decision)), age(r.OnAt, s.spec.Decision.Settings.Power.OffTimeout.Duration-1), age(r.NotBefore, 0), age(r.EffectUntil, 0),
			s.st.Restore != nil && s.st.Restore.Then == api.Fenced)
		if since := s.st.Lease.StillSince; rel.By != "" && since != nil {
			k += fmt.Sprint(age(since, 2*fencetest.Renewal), since.After(s.st.PhaseSince.Time), since.After(rel.StartedAt.Time))
		}
	}
	return k
}

// cutLooks: what the kubelet says that it uses.
func cutLooks(s *State, with func(func(*fence.Seen))) {
	if len(s.spec.Decision.Isolation()) == 0 {
		return
	}
	if s.st.Phase == api.Restoring {
		with(func(y *fence.Seen) { y.Node.VolumesInUse = []string{"v"} })
	}
}

// checkCut holds what is promised of such devices.
func checkCut(s *State, sh *shadow, f *api.NodeFence, seen *fence.Seen, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if len(s.spec.Decision.Isolation()) == 0 {
		return
	}
	b := &s.st
	last := api.Read{}
	if n := len(sh.reads); n > 0 {
		last = sh.reads[n-1]
	}
	if act.Device() {
		say(a.Claim.Device == s.spec.Decision.Isolation()[0].Name, "S7: the claim names the device that is spoken with")
	}
	if b.Phase == api.Isolating && a.Phase == api.Fencing && f.Spec.Requests.ConfirmOff == nil {
		say(last.State == api.PoweredOff && !sh.wrong, "isolation: the power is not cut before what must be cut off was seen so")
	}
	if a.Phase == api.Releasing && b.Phase == api.Isolating {
		ok := len(sh.reads) == 2 && last.State == api.PoweredOff && !sh.wrong && last.At.Sub(sh.reads[0].At.Time) >= fence.Settle
		say(ok && a.Proof != nil && a.Proof.Type == api.ProofStorageCut, "S1: storage is proven cut by two reads, a settle apart, with nothing else between them")
		say(now.Sub(last.At.Time) <= promisedProof, "S3: the proof of a cut is fresh")
	}
	if s.cutOnly() {
		say(!a.Placed.OutOfService, "S1: no out-of-service taint where only storage is cut")
		say(act != fence.Release || fence.Covered(&api.NodeFence{Spec: f.Spec, Status: *a}) != nil || a.Proof.Type == api.ProofConfirmed, "S1: only what the cut covers is released")
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
func mayWrite(s *State, sh *shadow, f *api.NodeFence, seen *fence.Seen) bool {
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
