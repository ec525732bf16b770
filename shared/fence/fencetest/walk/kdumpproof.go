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

// What a walk adds for a dump that is a proof: the walk from waiting for it,
// and back. It ends where power takes over: there nothing reads what is kept of it,
// and such a fence is like any other that waits for a dump
// (TestNothingLaterReadsWhatADumpLeft).

// mayProve: a dump may be a proof for this fence, as its policy really is.
func (s *State) mayProve() bool {
	return s.spec.Decision.Settings.Kdump != nil && s.spec.Decision.Settings.Kdump.ReleasePodsWhileDumping
}

// byDump: it releases pods for a dump now.
func (s *State) byDump() bool {
	return facts.ByDump(&api.NodeFence{Spec: s.spec.AsSpec(), Status: s.spec.In(s.st)})
}

// proofKey is what such a fence reads besides.
func (s *State) proofKey(age func(*api.Time, ...time.Duration) string) string {
	if !s.mayProve() {
		return ""
	}
	moved, k := observed.StampOf(s.sh.moved), api.KdumpRecord{}
	if s.st.Kdump != nil {
		k = *s.st.Kdump
	}
	key := fmt.Sprint("proof", k.BootID, s.sh.dumpBoot, k.DoneAt != nil, age(s.st.Lease.StillSince, 2*fencetest.Renewal-1), age(&moved, 2*fencetest.Renewal-1))
	if s.st.Phase == api.Releasing {
		key += fmt.Sprint(age(s.st.DecidedAt, facts.AdmissionValidity(&s.spec.Decision)), age(s.sh.decided, facts.AdmissionValidity(&s.spec.Decision)), age(s.st.Release.AskedAt, facts.Poll-1))
	}
	return key
}

// proofLooks vary what is heard of a dump that may be a proof, and what is there
// besides to be minded while it is.
func proofLooks(s *State, now time.Time, x observed.Look, with func(func(*observed.Look))) {
	switch s.st.Phase {
	case "", api.Pending, api.Isolating, api.Releasing:
	default:
		return
	}
	pods := &observed.Left{Delete: []observed.Pod{{Name: "p"}}, Attachments: 1, Detach: []observed.Attachment{{Name: "v"}}}
	dump := func(change func(*observed.Look, *observed.Dump)) {
		m := observed.Dump{NodeUID: s.spec.Decision.NodeUID, BootID: "a", First: now.Add(-10 * time.Second), Last: now, Source: "10.0.0.1", Count: 2}
		with(func(y *observed.Look) { y.Left = pods; change(y, &m); y.Dump = &m })
	}
	dump(func(*observed.Look, *observed.Dump) {})
	dump(func(_ *observed.Look, m *observed.Dump) { m.First, m.Count = m.Last, 1 })
	dump(func(_ *observed.Look, m *observed.Dump) { m.BootID = "b" })
	if s.st.Phase != api.Releasing {
		dump(func(_ *observed.Look, m *observed.Dump) { m.Last = now.Add(-9 * time.Second) })
		return
	}
	if x.Node.Ready() || x.Lease.Renewed != s.sh.renewed || x.Node.BootID != "a" {
		return // one of these alone is enough
	}
	dump(func(_ *observed.Look, m *observed.Dump) { m.Last = now.Add(-facts.DumpValidity - time.Second) })
	dump(func(_ *observed.Look, m *observed.Dump) { m.Last = now.Add(time.Hour) })
	dump(func(_ *observed.Look, m *observed.Dump) { m.NodeUID = "uid-2" })
	dump(func(y *observed.Look, _ *observed.Dump) { y.Lease.Exists = false })
	dump(func(y *observed.Look, _ *observed.Dump) { y.Node.UID = "uid-2" })
	dump(func(y *observed.Look, _ *observed.Dump) { y.Left = &observed.Left{Attachments: 1} })
	dump(func(y *observed.Look, _ *observed.Dump) { y.Deleting = true })
	for _, brake := range []observed.Brakes{{}, {Looked: true, Stopped: true}, {Looked: true, Paused: true}, {Looked: true, Storm: true}} {
		dump(func(y *observed.Look, _ *observed.Dump) { y.Brakes = brake })
	}
}

// checkDumpProof holds what is released during a dump against S1, and that nothing
// comes of it but that.
func checkDumpProof(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if s.spec.Decision.Settings.Kdump == nil {
		return
	}
	b, m := &s.st, seen.Dump
	if p := a.Proof; p != nil && p.Type == api.ProofKdump {
		say(s.mayProve(), "S1: a dump is a proof only where the policy opts in")
		say(act != fence.Release && act != fence.Off && act != fence.On && !a.Placed.OutOfService, "S1: for a dump nothing but pods is released")
	}
	if s.byDump() {
		say(a.Phase == api.Releasing || a.Phase == api.Pending || a.Phase == api.Recovering, "S4: after a dump's release the machine is seen off like any other")
		say(a.Phase == api.Releasing || a.Proof == nil, "S3: a dump's proof does not outlive its release")
		say(a.Release.StartedAt == nil && !a.Power.SwitchedByUs, "S25: a dump's release begins nothing that must run to its end")
	}
	if b.Phase == api.Releasing && a.Phase == api.Pending && a.Reason == api.KdumpUnderWay {
		say(a.DecidedAt == nil && a.GivenBack != nil, "kdump: no dump keeps a slot while it is only waited for")
	}
	if act != fence.DeletePods {
		return
	}
	until := a.Release.NotAfter
	say(m != nil && m.NodeUID == f.Status.Decision.NodeUID && m.Count > 1 && m.Last.Sub(m.First) >= promisedDumpApart, "S1: messages of this node's dump arrive")
	say(m != nil && now.Sub(m.Last) <= promisedDump && !m.Last.After(now.Add(promisedSettle)) && until != nil && !until.After(m.Last.Add(promisedDump)), "S3: each batch rests on a message that has just come")
	say(m != nil && m.BootID == seen.Node.BootID && sh.dumpBoot == seen.Node.BootID, "S4: nothing is released after a reboot")
	say(seen.Lease.Exists && now.Sub(sh.moved) >= 2*fencetest.Renewal, "S1: the Lease has stopped")
	say(!sh.dumpRefuted(*seen), "S3: a Lease that moved during the dump voids it")
	say(seen.Node.Exists && seen.Node.UID == f.Status.Decision.NodeUID, "S6: the pods are of the node that was fenced")
	say(!seen.Node.Ready(), "S5: nothing is released while the node counts as Ready")
	say(now.Sub(sh.dumpSince) < f.Status.Decision.Settings.Kdump.Timeout.Duration, "kdump: nothing is released once the dump's time is over")
	say(clear(seen.Brakes) && !seen.Deleting && f.Spec.Requests.Abort == nil, "S15: no release begins in a storm, a pause or a stop, or for a fence that was called off")
	say(sh.decided != nil && now.Sub(sh.decided.Time) <= promisedDecisionOf(&s.spec.Decision), "S17: no release begins on an old decision")
	say(a.Proof != nil && a.Proof.Type == api.ProofKdump && a.Proof.FenceUID == f.UID && a.Proof.FenceNumber == f.Status.FenceNumber &&
		a.Proof.NodeUID == f.Status.Decision.NodeUID && a.Proof.BootIDBefore == sh.dumpBoot && a.Proof.At.Time.Equal(observed.StampOf(m.Last).Time), "S3: the proof is of this fence, made anew")
	say(a.Release.Batches > b.Release.Batches, "S7: no batch without a save")
}
