package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a machine whose device may lie: the work is released on two reads of off, and the node's kubelet says which
// boot it is. The fence after that is walked too.

// The Node's heartbeat when the cut was proven, and two that the kubelet has written since.
const (
	heartbeatBefore = "h0"
	heartbeatSince  = "h1"
	heartbeatLater  = "h2"
)

// lies is what really happened to the cut.
type lies struct {
	// doubted: a cut of ours was proven, and is not judged. boot is the boot that was cut, and heartbeat the Node's
	// heartbeat at the proof; cutIn is the fence that cut the power. heard is the first heartbeat since, under boot.
	doubted                bool
	boot, heartbeat, heard string
	cutIn                  int64
	// refuted: the kubelet has said twice, after the cut, the boot ID of before, which no other node has, and nobody
	// has trusted the device since. refutedIn is the fence that cut the power.
	refuted   bool
	refutedIn int64
	// back is since when the fence recovers; zero in any other phase.
	back time.Time
}

// mayLie: the device of this fence may say off of a machine that is on.
func (s *State) mayLie() bool {
	b := s.spec.Decision.Power(0)
	return b != nil && b.Address == specs.Liar
}

// cutByALiar is such a fence once its work is to be released on two reads of off.
func cutByALiar(s State) State {
	s = releasedBy(s, api.ProofSeenOff)
	s.st.ProvenCut = &api.ProvenCut{
		FenceNumber: 1, NodeUID: "uid-1", Device: "mem " + specs.Liar, Level: 1, BootID: "a", Heartbeat: heartbeatBefore, ProvenAt: s.st.Proof.At,
	}
	s.sh.lies = lies{doubted: true, boot: "a", heartbeat: heartbeatBefore, cutIn: 1}
	return s
}

// pastLie: from here it goes on like any other fence: no cut is refuted or in doubt, or a person's word was taken. A second
// fence whose cut is in doubt does so from the gate on.
func (s *State) pastLie() bool {
	if !s.mayLie() {
		return false
	}
	if l := s.sh.lies; l.refuted {
		return s.st.Proof != nil && s.st.Proof.Type == api.ProofConfirmed
	} else if !l.doubted {
		return true
	}
	return s.st.FenceNumber > 1 && s.st.Phase != api.Pending
}

// lieKey is what tells apart two fences of such a machine.
func (s *State) lieKey() []any {
	if !s.mayLie() {
		return nil
	}
	r, l := s.st.Refuted, s.sh.lies
	late := !l.back.IsZero() && s.now.Sub(l.back) > promisedJudged
	return []any{"lies", late, s.st.ReadySince != nil && s.now.Sub(s.st.ReadySince.Time) > promisedJudged, l.doubted, l.refuted, l.boot, l.heartbeat, l.heard, l.cutIn == s.st.FenceNumber, s.st.ProvenCut != nil, r != nil, r != nil && r.FenceNumber == s.st.FenceNumber, s.st.FenceNumber}
}

// lieWaits are past the time for which the judgment of a cut is waited for.
func lieWaits(s *State) []time.Duration {
	if !s.mayLie() || s.st.Phase != api.Recovering || !s.sh.lies.doubted || s.st.Outcome == "" {
		return nil
	}
	return []time.Duration{promisedJudged + time.Second}
}

// lieLooks vary what the kubelet has said since the cut: nothing, the boot of before in a heartbeat that is new or is the
// last one again, another boot; whether other nodes have that boot ID; and whether the Node was registered anew.
func lieLooks(s *State, with func(func(*observed.Look))) {
	l := s.sh.lies
	if !s.mayLie() || s.st.ProvenCut == nil && !l.doubted {
		return
	}
	next := heartbeatSince
	if l.heard != "" {
		next = heartbeatLater
		with(func(y *observed.Look) { y.Node.Heartbeat = l.heard })
	}
	with(func(y *observed.Look) { y.Node.Heartbeat = next })
	with(func(y *observed.Look) { y.Node.Heartbeat, y.Node.BootIDShared = next, true })
	with(func(y *observed.Look) { y.Node.Heartbeat, y.Node.BootID = next, "b" })
	with(func(y *observed.Look) { y.Node.Heartbeat, y.Node.UID = next, "uid-2" })
}

// trusting are looks beside which a person says that the device may be believed.
func trusting(s *State, dt time.Duration, x observed.Look) []look {
	if !s.mayLie() || s.st.Refuted == nil {
		return nil
	}
	return []look{{dt: dt, seen: x, trust: true}}
}

// trusts is the person's statement of this look.
func (s *State) trusts(l *look) *api.Trust {
	if !l.trust || s.st.Refuted == nil {
		return nil
	}
	return &api.Trust{By: "me", Reason: "mended", RefutedAt: s.st.Refuted.At}
}

// judgesBoot: a function that may list Nodes looks at a fence of this phase.
var judgesBoot = map[api.Phase]bool{
	"": true, api.Pending: true, api.Probing: true, api.Fencing: true, api.PoweringOn: true, api.Recovering: true, api.Fenced: true, api.Failed: true, api.Finished: true,
}

// hearsBoot keeps what the kubelet has said of the boot since the cut, and what a person says of the device.
func (sh *shadow) hearsBoot(s *State, l *look, now time.Time) {
	seen := &l.seen
	if !s.mayLie() || CallElsewhere(&s.spec.Decision, &s.st, seen.Me, now) {
		return
	}
	if l.trust {
		sh.lies.refuted = false
	}
	switch {
	case s.st.Phase != api.Recovering:
		sh.lies.back = time.Time{}
	case sh.lies.back.IsZero():
		sh.lies.back = now
	}
	n, ready := seen.Node, ""
	for _, c := range n.Conditions {
		ready = c.Status
	}
	x := &sh.lies
	same := n.BootID == x.boot
	if !x.doubted || !judgesBoot[s.st.Phase] || !n.Exists || n.UID != "uid-1" && !same || n.Heartbeat == x.heartbeat || ready == "Unknown" {
		return
	}
	switch {
	case same && n.Heartbeat == x.heard: // the kubelet has said nothing new
	case same && x.heard == "" && !n.BootIDShared:
		x.heard = n.Heartbeat
	default:
		x.doubted, x.refuted, x.refutedIn = false, same && !n.BootIDShared, x.cutIn
	}
}

// provesCut keeps what the look showed of the boot when two reads proved a cut of ours.
func (sh *shadow) provesCut(s *State, seen *observed.Look, after *api.NodeFenceStatus) {
	p := after.Proof
	if s.mayLie() && s.st.Phase == api.Fencing && after.Phase == api.Releasing && p != nil && p.Type == api.ProofSeenOff && sh.cut {
		sh.lies.doubted, sh.lies.boot, sh.lies.heartbeat, sh.lies.heard, sh.lies.cutIn = true, seen.Node.BootID, seen.Node.Heartbeat, "", after.FenceNumber
	}
}

// checkLies holds what is promised of a machine whose cut the boot ID refutes.
func checkLies(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if !s.mayLie() || CallElsewhere(&s.spec.Decision, &s.st, seen.Me, now) {
		return
	}
	is, b := sh.lies.refuted, &s.st
	say((a.Refuted != nil) == is, "S28: a cut is refuted as long as the kubelet has said twice after it the boot ID of before and no person trusts the device")
	checkJudgment(sh, f, seen, b, a, act, now, say)
	if !is {
		return
	}
	made := a.Proof != nil && a.Proof.Type == api.ProofSeenOff && (b.Proof == nil || !b.Proof.At.Equal(&a.Proof.At))
	say(!made, "S1: no read of off is a proof once the boot ID has refuted a cut")
	say(act != fence.Off, "S1: no power is cut by a device once the boot ID has refuted a cut")
	word, mine := f.Spec.Requests.ConfirmOff != nil, seen.Node.Exists && seen.Node.UID == f.Status.Decision.NodeUID
	waits := a.Phase == api.Pending || !a.Phase.LeadsToRelease() || a.Phase == api.Failed
	say(b.Phase != api.Pending || waits || word || !mine, "S1: no fence leaves the gate once the boot ID has refuted a cut, but for a person's word")
	say(a.Outcome != api.Recovered || a.FenceNumber != sh.lies.refutedIn, "S28: a fence whose cut the boot ID refutes does not end as one whose node was off")
}

// checkJudgment holds that a fence notes its report, and ends, only after the judgment of its cut, which it does not wait for
// for ever. A fence whose node has failed again has noted its report, and waits no more.
func checkJudgment(sh *shadow, f *api.NodeFence, seen *observed.Look, b, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	n := seen.Node
	lives := n.Exists && n.Ready() && n.UID == "uid-1" && n.BootID == sh.lies.boot && seen.Lease.Exists && now.Sub(sh.moved) < 2*fencetest.Renewal
	waits := sh.lies.doubted && (n.Heartbeat == sh.lies.heard || n.Heartbeat == sh.lies.heartbeat) && lives && b.Report == nil && b.ReadySince != nil && now.Sub(sh.lies.back) < promisedJudged
	ends := a.Phase == api.Finished || a.Report != nil
	say(!waits || b.Outcome != api.Recovered || !ends || f.Spec.Requests.Abort != nil || seen.Deleting, "S28: a fence waits until the status of its node judges its cut")
	late := b.ReadySince != nil && now.Sub(b.ReadySince.Time) > promisedJudged && b.Outcome == api.Recovered
	say(!late || b.Phase != api.Recovering || a.Phase != api.Recovering || act != fence.None, "S27: the judgment of a cut is waited for in bounded time")
}

// opensAfterALie: the next fence of the node opens at once.
func (w *walker) opensAfterALie(s *State) {
	if !s.mayLie() || s.st.Phase != api.Finished || s.st.FenceNumber > 1 {
		return
	}
	n := *s
	n.spec.FenceNumber, n.st.Phase = n.spec.FenceNumber+1, ""
	n.st.FenceNumber = n.spec.FenceNumber
	n.sh = shadow{reads: s.sh.reads, moved: s.sh.moved, renewed: s.sh.renewed, effect: s.sh.effect, until: s.sh.until, lies: s.sh.lies}
	w.push(&n)
}

// RefutedBeforeAProof are fences whose cut the boot ID has refuted, one with the first of two reads of off, one with a read
// of on.
func RefutedBeforeAProof() []State {
	off := CutJustNow()[1]
	off.spec, off.sh.lies = specs.Lies(), lies{refuted: true, boot: "a", refutedIn: 1, cutIn: 1}
	then := observed.StampOf(fencetest.Start.Add(-time.Minute))
	off.st.Refuted = &api.Refutation{At: then, FenceNumber: 1, Device: "mem " + specs.Liar, Level: 1, BootID: "a", ProvenAt: then}
	first := api.Read{State: api.PoweredOff, At: observed.StampOf(fencetest.Start)}
	off.now, off.st.Power.FirstOff, off.st.Power.LastRead, off.sh.reads = fencetest.Start.Add(fencetest.Lead), &first, &first, []api.Read{first}
	on := off
	read := api.Read{State: api.PoweredOn, At: observed.StampOf(fencetest.Start)}
	on.st.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{LastRead: &read}}
	on.st.CutOrReleased, on.sh.cut, on.sh.off, on.sh.reads = false, false, [2]bool{}, []api.Read{read}
	return []State{off, on}
}
