package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// dumpApart is for how long a dump must have been heard of to be one.
const dumpApart = 5 * time.Second

// heard changes what a dump's proof rests on.
func heard(change func(f *api.NodeFence, s *observed.Look, m *observed.Dump, now time.Time)) walk.Decider {
	return Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if s.Dump != nil {
			m := *s.Dump
			change(f, s, &m, now)
			s.Dump = &m
		}
	})
}

// inDump does so while pods are released for a dump.
func inDump(change func(f *api.NodeFence, s *observed.Look, m *observed.Dump, now time.Time)) walk.Decider {
	return heard(func(f *api.NodeFence, s *observed.Look, m *observed.Dump, now time.Time) {
		if facts.ByDump(f) {
			change(f, s, m, now)
		}
	})
}

// brokenOptIn is shown a policy that opts in where none does.
var brokenOptIn = map[string]walk.Decider{
	"takes a dump for a proof that nobody opted in to": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		r := *f.Status.Decision.Settings.Kdump
		r.ReleasePodsWhileDumping = true
		f.Status.Decision.Settings.Kdump = &r
		comes := s.Dump != nil && s.Dump.NodeUID == f.Status.Decision.NodeUID && s.Dump.Last.Equal(now)
		if k := f.Status.Kdump; k != nil && (comes || f.Status.Phase == api.Isolating) {
			k.BootID = s.Node.BootID
			s.Dump = &observed.Dump{NodeUID: f.Status.Decision.NodeUID, BootID: k.BootID, First: now.Add(-dumpApart), Last: now, Count: 2}
		}
	}),
}

// brokenDumpProof are Decides that lack one guard of the proof each.
var brokenDumpProof = map[string]walk.Decider{
	"believes one message": heard(func(_ *api.NodeFence, _ *observed.Look, m *observed.Dump, _ time.Time) {
		m.Count, m.First = 2, m.Last.Add(-dumpApart)
	}),
	"believes an old message":          inDump(func(_ *api.NodeFence, _ *observed.Look, m *observed.Dump, now time.Time) { m.Last = now }),
	"believes a message of the future": inDump(func(_ *api.NodeFence, _ *observed.Look, m *observed.Dump, now time.Time) { m.Last = now }),
	"believes a message of another node": inDump(func(f *api.NodeFence, _ *observed.Look, m *observed.Dump, _ time.Time) {
		m.NodeUID = f.Status.Decision.NodeUID
	}),
	"does not look at the boot's messages": inDump(func(f *api.NodeFence, _ *observed.Look, m *observed.Dump, _ time.Time) {
		m.BootID = f.Status.Kdump.BootID
	}),
	"does not see the reboot after a dump": inDump(func(f *api.NodeFence, s *observed.Look, m *observed.Dump, _ time.Time) { s.Node.BootID = m.BootID }),
	"takes a later boot's dump for the one that it began with": inDump(func(f *api.NodeFence, s *observed.Look, _ *observed.Dump, _ time.Time) {
		f.Status.Kdump.BootID = s.Node.BootID
	}),
	"releases pods without a Lease that was seen": inDump(func(_ *api.NodeFence, s *observed.Look, _ *observed.Dump, _ time.Time) { s.Lease.Exists = true }),
	"releases pods against a Lease that moves": inDump(func(f *api.NodeFence, s *observed.Look, _ *observed.Dump, now time.Time) {
		at := observed.StampOf(now.Add(-time.Hour))
		f.Status.Lease = api.LeaseRecord{Renewed: s.Lease.Renewed, StillSince: &at}
	}),
	"releases pods of a dumping node that counts as Ready": inDump(func(_ *api.NodeFence, s *observed.Look, _ *observed.Dump, _ time.Time) {
		s.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "Unknown", Since: fencetest.Start}}
	}),
	"releases pods of another node of the name": inDump(func(f *api.NodeFence, s *observed.Look, _ *observed.Dump, _ time.Time) {
		s.Node.UID = f.Status.Decision.NodeUID
	}),
	"does not see the brakes during a dump": inDump(func(_ *api.NodeFence, s *observed.Look, _ *observed.Dump, _ time.Time) {
		s.Brakes = observed.Brakes{Looked: true, Counted: true}
	}),
	"does not hear the end during a dump": inDump(func(_ *api.NodeFence, s *observed.Look, _ *observed.Dump, _ time.Time) { s.Deleting = false }),
	"releases pods on an old decision": inDump(func(f *api.NodeFence, _ *observed.Look, _ *observed.Dump, now time.Time) {
		at := observed.StampOf(now)
		f.Status.DecidedAt = &at
	}),
	"releases pods during a dump for ever": inDump(func(f *api.NodeFence, s *observed.Look, _ *observed.Dump, now time.Time) {
		if k, l := f.Status.Kdump, f.Status.Lease; s.Lease.Renewed == l.Renewed && !l.StillSince.After(k.Since.Time) {
			k.Since = observed.StampOf(now.Add(-time.Millisecond))
		}
	}),
	"lets a dump's batch be begun at any time": after(func(st *api.NodeFenceStatus, act fence.Action, now time.Time) {
		if act == fence.DeletePods {
			late := observed.StampOf(now.Add(time.Hour))
			st.Release.NotAfter = &late
		}
	}),
	"sets the taint for a dump": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if act == fence.DeletePods {
			act = fence.Release
		}
		return st, act
	},
	"takes a dump's release for one of a machine that is off": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		if facts.ByDump(f) && s.Dump != nil {
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
}
