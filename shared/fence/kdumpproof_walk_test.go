package fence_test

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// What a walk adds for a dump that is a proof: the walk aside from waiting for it,
// and back. It ends where power takes over: there nothing reads what is kept of it,
// and such a fence is like any other that waits for a dump
// (TestNothingLaterReadsWhatADumpLeft).

func dumpProofSpec() fencetest.Given {
	s := kdumpSpec()
	r := *s.Decision.Settings.Kdump
	r.ReleasePodsWhileDumping, r.FirstMessageTimeout.Duration, r.Timeout.Duration = true, 0, 100*time.Second
	s.Decision.Settings.Kdump = &r
	return s
}

// mayProve: a dump may be a proof for this fence, as its policy really is.
func (s *state) mayProve() bool {
	return s.spec.Decision.Settings.Kdump != nil && s.spec.Decision.Settings.Kdump.ReleasePodsWhileDumping
}

// byDump: it releases pods for a dump now.
func (s *state) byDump() bool {
	return fence.ByDump(&api.NodeFence{Spec: s.spec.AsSpec(), Status: s.spec.In(s.st)})
}

// proofKey is what such a fence reads besides.
func (s *state) proofKey(age func(*api.Time, ...time.Duration) string) string {
	if !s.mayProve() {
		return ""
	}
	moved, k := fence.StampOf(s.sh.moved), api.KdumpRecord{}
	if s.st.Kdump != nil {
		k = *s.st.Kdump
	}
	key := fmt.Sprint("proof", k.BootID, s.sh.dumpBoot, k.DoneAt != nil, age(s.st.Lease.StillSince, 2*fencetest.Renewal-1), age(&moved, 2*fencetest.Renewal-1))
	if s.st.Phase == api.Releasing {
		key += fmt.Sprint(age(s.st.DecidedAt, fence.DecisionValidity), age(s.sh.decided, fence.DecisionValidity), age(s.st.Release.AskedAt, fence.Poll-1))
	}
	return key
}

// proofLooks vary what is heard of a dump that may be a proof, and what is there
// besides to be minded while it is.
func proofLooks(s *state, now time.Time, x fence.Seen, with func(func(*fence.Seen))) {
	switch s.st.Phase {
	case "", api.Pending, api.Isolating, api.Releasing:
	default:
		return
	}
	pods := &fence.Left{Delete: []fence.Pod{{Name: "p"}}, Attachments: 1, Detach: []fence.Attachment{{Name: "v"}}}
	dump := func(change func(*fence.Seen, *fence.Dump)) {
		m := fence.Dump{NodeUID: s.spec.Decision.NodeUID, BootID: "a", First: now.Add(-10 * time.Second), Last: now, Source: "10.0.0.1", Count: 2}
		with(func(y *fence.Seen) { y.Left = pods; change(y, &m); y.Dump = &m })
	}
	dump(func(*fence.Seen, *fence.Dump) {})
	dump(func(_ *fence.Seen, m *fence.Dump) { m.First, m.Count = m.Last, 1 })
	dump(func(_ *fence.Seen, m *fence.Dump) { m.BootID = "b" })
	if s.st.Phase != api.Releasing {
		dump(func(_ *fence.Seen, m *fence.Dump) { m.Last = now.Add(-9 * time.Second) })
		return
	}
	if x.Node.Ready() || x.Lease.Renewed != s.sh.renewed || x.Node.BootID != "a" {
		return // one of these alone is enough
	}
	dump(func(_ *fence.Seen, m *fence.Dump) { m.Last = now.Add(-fence.DumpValidity - time.Second) })
	dump(func(_ *fence.Seen, m *fence.Dump) { m.Last = now.Add(time.Hour) })
	dump(func(_ *fence.Seen, m *fence.Dump) { m.NodeUID = "uid-2" })
	dump(func(y *fence.Seen, _ *fence.Dump) { y.Lease.Exists = false })
	dump(func(y *fence.Seen, _ *fence.Dump) { y.Node.UID = "uid-2" })
	dump(func(y *fence.Seen, _ *fence.Dump) { y.Left = &fence.Left{Attachments: 1} })
	dump(func(y *fence.Seen, _ *fence.Dump) { y.Deleting = true })
	for _, brake := range []fence.Brakes{{}, {Looked: true, Stopped: true}, {Looked: true, Paused: true}, {Looked: true, Storm: true}} {
		dump(func(y *fence.Seen, _ *fence.Dump) { y.Brakes = brake })
	}
}

// checkDumpProof holds what is released during a dump against S1, and that nothing
// comes of it but that.
func checkDumpProof(s *state, sh *shadow, f *api.NodeFence, seen *fence.Seen, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if s.spec.Decision.Settings.Kdump == nil {
		return
	}
	b, m := &s.st, seen.Dump
	if p := a.Proof; p != nil && p.Type == api.ProofKdump {
		say(s.mayProve(), "S1: a dump is a proof only where the policy opts in")
		say(act != fence.Release && act != fence.Off && act != fence.On && !a.Placed.OutOfService, "S1: for a dump nothing but pods is released")
		say(a.MinReaderVersion >= api.SchemaKdump, "S21: an older nodefence leaves such a record alone")
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
	say(sh.decided != nil && now.Sub(sh.decided.Time) <= promisedDecision, "S17: no release begins on an old decision")
	say(a.Proof != nil && a.Proof.Type == api.ProofKdump && a.Proof.FenceUID == f.UID && a.Proof.FenceNumber == f.Status.FenceNumber &&
		a.Proof.NodeUID == f.Status.Decision.NodeUID && a.Proof.BootIDBefore == sh.dumpBoot && a.Proof.At.Time.Equal(fence.StampOf(m.Last).Time), "S3: the proof is of this fence, made anew")
	say(a.Release.Batches > b.Release.Batches, "S7: no batch without a save")
}

// heard changes what a dump's proof rests on.
func heard(change func(f *api.NodeFence, s *fence.Seen, m *fence.Dump, now time.Time)) decider {
	return before(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		if s.Dump != nil {
			m := *s.Dump
			change(f, s, &m, now)
			s.Dump = &m
		}
	})
}

// inDump does so while pods are released for a dump.
func inDump(change func(f *api.NodeFence, s *fence.Seen, m *fence.Dump, now time.Time)) decider {
	return heard(func(f *api.NodeFence, s *fence.Seen, m *fence.Dump, now time.Time) {
		if fence.ByDump(f) {
			change(f, s, m, now)
		}
	})
}

// brokenOptIn is shown a policy that opts in where none does.
var brokenOptIn = map[string]decider{
	"takes a dump for a proof that nobody opted in to": before(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		r := *f.Status.Decision.Settings.Kdump
		r.ReleasePodsWhileDumping = true
		f.Status.Decision.Settings.Kdump = &r
		comes := s.Dump != nil && s.Dump.NodeUID == f.Status.Decision.NodeUID && s.Dump.Last.Equal(now)
		if k := f.Status.Kdump; k != nil && (comes || f.Status.Phase == api.Isolating) {
			k.BootID = s.Node.BootID
			s.Dump = &fence.Dump{NodeUID: f.Status.Decision.NodeUID, BootID: k.BootID, First: now.Add(-fence.DumpApart), Last: now, Count: 2}
		}
	}),
}

// brokenDumpProof are Decides that lack one guard of the proof each.
var brokenDumpProof = map[string]decider{
	"believes one message": heard(func(_ *api.NodeFence, _ *fence.Seen, m *fence.Dump, _ time.Time) {
		m.Count, m.First = 2, m.Last.Add(-fence.DumpApart)
	}),
	"believes an old message":          inDump(func(_ *api.NodeFence, _ *fence.Seen, m *fence.Dump, now time.Time) { m.Last = now }),
	"believes a message of the future": inDump(func(_ *api.NodeFence, _ *fence.Seen, m *fence.Dump, now time.Time) { m.Last = now }),
	"believes a message of another node": inDump(func(f *api.NodeFence, _ *fence.Seen, m *fence.Dump, _ time.Time) {
		m.NodeUID = f.Status.Decision.NodeUID
	}),
	"does not look at the boot's messages": inDump(func(f *api.NodeFence, _ *fence.Seen, m *fence.Dump, _ time.Time) { m.BootID = f.Status.Kdump.BootID }),
	"does not see the reboot after a dump": inDump(func(f *api.NodeFence, s *fence.Seen, m *fence.Dump, _ time.Time) { s.Node.BootID = m.BootID }),
	"takes a later boot's dump for the one that it began with": inDump(func(f *api.NodeFence, s *fence.Seen, _ *fence.Dump, _ time.Time) {
		f.Status.Kdump.BootID = s.Node.BootID
	}),
	"releases pods without a Lease that was seen": inDump(func(_ *api.NodeFence, s *fence.Seen, _ *fence.Dump, _ time.Time) { s.Lease.Exists = true }),
	"releases pods against a Lease that moves": inDump(func(f *api.NodeFence, s *fence.Seen, _ *fence.Dump, now time.Time) {
		at := fence.StampOf(now.Add(-time.Hour))
		f.Status.Lease = api.LeaseRecord{Renewed: s.Lease.Renewed, StillSince: &at}
	}),
	"releases pods of a dumping node that counts as Ready": inDump(func(_ *api.NodeFence, s *fence.Seen, _ *fence.Dump, _ time.Time) {
		s.Node.Conditions = []fence.Condition{{Type: "Ready", Status: "Unknown", Since: fencetest.Start}}
	}),
	"releases pods of another node of the name": inDump(func(f *api.NodeFence, s *fence.Seen, _ *fence.Dump, _ time.Time) {
		s.Node.UID = f.Status.Decision.NodeUID
	}),
	"does not see the brakes during a dump": inDump(func(_ *api.NodeFence, s *fence.Seen, _ *fence.Dump, _ time.Time) {
		s.Brakes = fence.Brakes{Looked: true, Counted: true}
	}),
	"does not hear the end during a dump": inDump(func(_ *api.NodeFence, s *fence.Seen, _ *fence.Dump, _ time.Time) { s.Deleting = false }),
	"releases pods on an old decision": inDump(func(f *api.NodeFence, _ *fence.Seen, _ *fence.Dump, now time.Time) {
		at := fence.StampOf(now)
		f.Status.DecidedAt = &at
	}),
	"releases pods during a dump for ever": inDump(func(f *api.NodeFence, s *fence.Seen, _ *fence.Dump, now time.Time) {
		if k, l := f.Status.Kdump, f.Status.Lease; s.Lease.Renewed == l.Renewed && !l.StillSince.After(k.Since.Time) {
			k.Since = fence.StampOf(now.Add(-time.Millisecond))
		}
	}),
	"lets a dump's batch be begun at any time": after(func(st *api.NodeFenceStatus, act fence.Action, now time.Time) {
		if act == fence.DeletePods {
			late := fence.StampOf(now.Add(time.Hour))
			st.Release.NotAfter = &late
		}
	}),
	"sets the taint for a dump": func(f *api.NodeFence, s fence.Seen, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if act == fence.DeletePods {
			act = fence.Release
		}
		return st, act
	},
	"takes a dump's release for one of a machine that is off": func(f *api.NodeFence, s fence.Seen, now time.Time) (api.NodeFenceStatus, fence.Action) {
		if fence.ByDump(f) && s.Dump != nil {
			g := *f
			p := *f.Status.Proof
			g.Status = *f.Status.DeepCopy()
			p.Type = api.ProofSeenOff
			g.Status.Proof = &p
			st, act := fence.Decide(&g, s, now)
			if st.Proof != nil {
				st.Proof.Type = api.ProofKdump
			}
			return st, act
		}
		return fence.Decide(f, s, now)
	},
	"keeps its slot while it waits for a dump": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if st.Phase == api.Pending && st.GivenBack != nil {
			st.GivenBack = nil
		}
	}),
	"is open to an older nodefence": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) { st.MinReaderVersion = api.SchemaPlain }),
}
