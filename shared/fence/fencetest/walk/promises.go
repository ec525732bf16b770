package walk

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// check holds one step against the promises. What really happened comes from
// the look and the shadow, never from what Decide wrote.
func (w *walker) check(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time) {
	b := &s.st
	say := func(ok bool, promise string) {
		if !ok && w.broken[promise] == "" {
			w.broken[promise] = fmt.Sprintf("from %s, %s at +%s: to %s (%s: %s), action %q, node %+v, asked %+v", b.Phase, seen.Me,
				now.Sub(fencetest.Start), a.Phase, a.Reason, a.Message, act, seen.Node, f.Spec.Requests)
		}
	}
	mine := seen.Node.Exists && seen.Node.UID == f.Status.Decision.NodeUID
	checkDecided(b, a, say)
	w.checkRelease(s, sh, f, seen, a, act, now, say)
	w.checkPower(s, sh, f, seen, a, act, now, say)
	w.checkEarly(s, sh, f, seen, a, act, now, say)
	w.checkActivity(s, sh, f, seen, a, act, now, say)
	w.checkKdump(s, sh, f, seen, a, act, now, say)
	checkDumpProof(s, sh, f, seen, a, act, now, say)
	checkBegun(s, sh, a, say)
	checkReads(s, sh, f, seen, a, act, say)
	checkGentle(s, sh, seen, a, act, now, say)
	checkCut(s, sh, f, seen, a, act, now, say)
	checkGone(s, sh, f, seen, a, act, now, say)
	checkBare(s, sh, f, seen, a, act, now, say)
	w.checkHeld(s, sh, f, seen, a, act, now, say)
	checkDrain(s, sh, f, seen, a, act, now, say)
	checkDelayed(s, sh, a, act, now, say)
	checkManual(s, f, seen, a, act, now, say)
	checkWent(s, sh, f, seen, a, now, say)
	checkSupplies(s, sh, a, say)
	checkBack(s, sh, seen, a, say)
	checkAwaited(s, sh, f, a, act, say)
	w.checkJoined(s, sh, f, seen, a, act, now, say)
	checkCounted(s, sh, f, seen, a, act, now, say)
	checkReported(s, sh, f, seen, a, act, now, say)
	checkLive(s, sh, f, seen, a, act, say)
	checkLies(s, sh, f, seen, a, act, now, say)
	checkDry(s, seen, a, act, say)
	checkReport(s, sh, seen, a, act, say)
	if !mine {
		say(act == fence.None || act.Device() || act == fence.WriteReport || act == fence.DropFinalizer || act == fence.Resolve || act == fence.Reserve || act == fence.DeleteMachine && s.isBare(), "S6: nothing is done in the name of another node")
	}
	if a.Phase == api.Finished && b.Phase != api.Finished {
		say(!mine || !marksStay(b, seen), "S22: nothing of ours is left")
		say(!seen.Finalizer, "S27: the finalizer is off before the record is closed")
	}
	entered := a.Phase != b.Phase && (a.Phase == api.PoweringOn || a.Phase == api.Fenced || a.Phase == api.Finished)
	restores := b.Phase == api.Restoring && act.Device()
	if (entered || restores) && mine {
		say(!b.Placed.OutOfService || (seen.Cleared && !seen.Node.OutOfService), "S23: the out-of-service taint is off, and can't come back, before the machine may be on")
	}
	if a.Phase != api.Finished {
		say(a.NextLook != nil && !a.NextLook.Time.Before(now.Truncate(time.Microsecond)) || reflect.DeepEqual(a, b), "S19: an open record says when to look next")
	}
}

// checkDecided: a status of another function that says otherwise what was decided is refused whole, look
// for look.
func checkDecided(b, a *api.NodeFenceStatus, say func(bool, string)) {
	if b.Phase == "" || b.Phase == api.Pending || b.Phase == api.Finished {
		return // the gate's
	}
	same := a.FenceNumber == b.FenceNumber && slices.Equal(a.Decision.AskedBy, b.Decision.AskedBy) && a.Decision.DeviceCallTimeout == b.Decision.DeviceCallTimeout
	say(same, "S25, S27: only the gate writes what it decided")
	say(a.DecidedAt == nil || a.DecidedAt.Equal(b.DecidedAt), "S17: only the gate writes its yes")
}

func (w *walker) checkRelease(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	b := &s.st
	if act == fence.Release {
		until := a.Release.NotAfter
		say(until != nil && (a.Release.Deadline == nil || !until.After(a.Release.Deadline.Time)), "S4: nothing is begun to be released once the machine may be switched on")
		say(until != nil && (!a.Proof.Type.Ages() || !until.After(a.Proof.At.Add(promisedProofOf(&s.spec.Decision)))), "S3: nothing is begun to be released on an old proof")
	}
	if b.Phase == api.Releasing && a.Phase == api.PoweringOn && seen.Node.UID == f.Status.Decision.NodeUID && seen.Node.Exists {
		late := b.Release.Deadline != nil && !now.Before(b.Release.Deadline.Time)
		say(late || b.Release.DoneAt != nil || (seen.Left != nil && len(seen.Left.Delete)+seen.Left.Attachments == 0), "S4: no power-on before its work is gone")
	}
	if a.Proof != nil && a.Proof.Type == api.ProofConfirmed && b.Phase == api.Fencing && a.Phase == api.Releasing {
		say(f.Spec.Requests.ConfirmOff != nil, "S1: a confirmation comes from a person")
		say(!seen.Lease.Exists || now.Sub(sh.moved) >= 2*fencetest.Renewal, "S3: a confirmation against a moving Lease is not believed")
		checkWord(s, sh, say)
	}
	if a.Proof != nil && a.Proof.Type == api.ProofSeenOff && b.Phase == api.Fencing && a.Phase == api.Releasing {
		r := a.Proof.Reads
		ok := len(r) == 2 && len(sh.reads) == 2 && sh.reads[0].State == api.PoweredOff && !sh.wrong &&
			!r[0].At.Time.Before(sh.reads[0].At.Time) && r[1].At.Time.Equal(sh.reads[1].At.Time)
		say(ok, "S1: a proof is two reads of off, with nothing else between them")
		if ok {
			apart := r[1].At.Sub(r[0].At.Time)
			say(apart >= promisedSettle, "S1: the reads are a settle apart")
			say(b.Release.StartedAt != nil || apart >= fencetest.Lead, "S5: the reads are the device's lead apart")
			say(!(sh.fresh && b.Power.OffAt != nil) || !seen.Lease.Exists || (apart >= fencetest.Renewal && !sh.moved.After(r[0].At.Time)), "S5: a fresh Lease must stand still for a renewal")
		}
	}
	if act != fence.Release {
		return
	}
	say(!seen.Node.Exists || seen.Node.Taint || !b.Placed.Taint, "S22: nothing is released of a node that has lost its taint")
	p := a.Proof
	say(p != nil, "S1: no release without a proof")
	if p == nil {
		return
	}
	say(p.FenceUID == f.UID && p.FenceNumber == f.Status.FenceNumber && p.NodeUID == f.Status.Decision.NodeUID, "S3: the proof is of this fence")
	say(p.BootIDBefore == "" || seen.Node.BootID == p.BootIDBefore, "S4: nothing is released after a reboot")
	say(!seen.Node.Ready() || p.Type == api.ProofStorageCut, "S5: nothing is released while the node counts as Ready")
	if p.Type.Ages() && len(sh.reads) > 0 {
		say(now.Sub(sh.reads[len(sh.reads)-1].At.Time) <= promisedProofOf(&s.spec.Decision), "S3: the proof is fresh")
		say(p.Type == api.ProofStorageCut || !seen.Lease.Exists || !sh.moved.After(sh.reads[len(sh.reads)-1].At.Time), "S3: a Lease that moves voids the proof")
	}
	if b.Release.StartedAt == nil && !sh.cut {
		say(clear(seen.Brakes), "S15: no release begins in a storm, a pause or a stop")
	}
}

func (w *walker) checkPower(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	b := &s.st
	if c := b.Claim; c != nil && c.Holder != seen.Me {
		until := c.NotAfter.Add(2 * time.Second)
		if c.Call != api.CallRead {
			until = until.Add(delayAt(&fencetest.Given{Decision: f.Status.Decision}, b.Power.Level))
		}
		if now.Before(until) {
			say(act == fence.None && reflect.DeepEqual(a, b), "S7: another's call is left alone until it can't be in flight")
		}
	}
	if b.Phase == api.PoweringOn && a.Phase == api.Recovering && a.Reason == api.SeenOn {
		l := b.Power.Level
		say(!sh.off[1-l], "S25: every level that was cut is seen on")
	}
	if !act.Device() {
		return
	}
	say(f.Status.Decision.Settings.Action.Device() || act == fence.Read && (f.Status.Decision.Settings.Action == api.ActionWaitForOff || f.Spec.Requests.ConfirmOff != nil), "no device is touched where the policy only isolates, and none is switched where it does nothing")
	say(a.Claim != nil && a.Claim.Holder == seen.Me && a.Claim.Call == api.Call(act) && a.Claim.NotAfter.After(now), "S7: a call is claimed before it is made")
	say(seen.Call == nil || seen.HandsOver || seen.Call.NotMade, "S7: one call an invocation")
	last := api.Read{}
	if n := len(sh.reads); n > 0 {
		last = sh.reads[n-1]
	}
	fresh := now.Sub(last.At.Time) <= f.Status.Decision.DeviceCallTimeout.Duration+promisedRead
	if act == fence.Off {
		say(last.State == api.PoweredOn && fresh, "S9: an Off follows a fresh read of on")
		say(!sh.wrong, "S11: no Off to another machine")
		say(clear(seen.Brakes), "S25: no Off while a brake is on")
		say(!seen.Brakes.Stricter && !seen.Brakes.Gone, "S17: no Off while the policies as they stand are stricter")
		say(seen.Call == nil || seen.Call.Call != api.CallOff || seen.Call.NotMade, "S9: after an Off that was sent nothing is sent before a read")
		say(seen.Brakes.Counted, "S13, S15: no Off before storm, budgets and quorum were asked again")
		say(f.Spec.Requests.Abort == nil && !seen.Deleting, "S25: no Off after an abort")
		if !sh.cut {
			bad := s.spec.Decision.Asker() != nil && !sh.served && now.Sub(fencetest.Start) <= promisedRequest+time.Second
			bad = bad || sh.freshJoin(now)
			bad = bad || s.ofMachine() && sh.machine && !sh.served
			for _, c := range seen.Node.Conditions {
				bad = bad || (c.Type == "Ready" && c.Status == "Unknown")
			}
			say(bad, "S17: no first Off once the reason has gone")
			say(sh.decided != nil && now.Sub(sh.decided.Time) <= promisedDecisionOf(&s.spec.Decision), "S17: no first Off on an old decision")
		} else if s.unasked(sh) && !s.ofMachine() && a.Phase == api.Fencing {
			say(!sh.withdrawn || !sh.sick.IsZero(), "S17: no further Off for a request that is withdrawn")
			say(sh.sent.IsZero() || !seen.Node.Ready() || !seen.Lease.Exists || !sh.moved.After(sh.sent) || now.Sub(sh.moved) >= 2*fencetest.Renewal, "S17: no further Off of a node that is healthy again")
		}
	}
	marked := !s.isEarly() && !s.isRead() || seen.Node.Taint || !seen.Node.Exists || seen.Node.UID != f.Status.Decision.NodeUID || b.CutOrReleased || b.Begun()
	say(a.Phase != api.Fencing || b.Phase != api.Fencing || !act.Device() || marked, "S22: no device is called of a node that has lost its taint")
	say(b.Phase != api.Fencing || a.Phase != api.Releasing || marked, "S22: nothing is proven of a node that has lost its taint")
	say(a.Phase != api.Probing || act == fence.None || act == fence.Read, "S17: a machine that is only probed is read, and nothing else is done to it")
	if act == fence.On {
		say(sh.cut || s.takesOver(sh), "S12: only what we cut is switched on")
		say((last.State == api.PoweredOff || sh.lacking()) && fresh, "S9: an On follows a fresh read of off")
		say(!now.Before(sh.effect[0]) && !now.Before(sh.effect[1]), "S8: no On while an Off of ours may still take effect")
	}
}

// marksStay: a mark that we placed is seen on the node.
func marksStay(b *api.NodeFenceStatus, seen *observed.Look) bool {
	n := seen.Node
	return n.Taint || b.Placed.Cordon && n.Cordoned && n.CordonOurs
}

func clear(b observed.Brakes) bool {
	return b.Looked && !b.Stopped && !b.Paused && !b.Storm
}
