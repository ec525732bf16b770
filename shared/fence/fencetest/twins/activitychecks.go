package twins

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenActivity are Decides that lack one guard of activityChecks each.
var brokenActivity = map[string]walk.Decider{
	"makes no activity check": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Status.Decision.Settings.ActivityChecks = nil }),
	"takes what went wrong for no activity": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		eachAnswer(s, func(a api.Answer) api.Answer {
			if a == api.AnswerError {
				return api.AnswerNone
			}
			return a
		})
	}),
	"takes what has not answered for no activity": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		eachAnswer(s, func(a api.Answer) api.Answer {
			if a == "" {
				return api.AnswerNone
			}
			return a
		})
	}),
	"does not hear the one that saw activity": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		eachAnswer(s, func(a api.Answer) api.Answer {
			if a == api.AnswerActivity {
				return api.AnswerNone
			}
			return a
		})
	}),
	"listens to a round that is over": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if a := f.Status.ActivityChecks; s.Checked != nil && a != nil {
			c := *s.Checked
			c.Round, s.Checked = a.Number, &c
		}
	}),
	"counts as dead on the checks alone, whatever the Lease does": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if f.Status.ActivityChecks != nil && f.Status.Phase == api.Pending {
			long := observed.StampOf(now.Add(-time.Hour))
			s.Lease.Renewed, s.Lease.Exists, f.Status.Lease = "r", true, api.LeaseRecord{Renewed: "r", StillSince: &long}
		}
	}),
	"goes on after the first failed round": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if a := st.ActivityChecks; a != nil && a.Failed == 1 {
			a.Failed = 2
		}
	}),
	"remembers failed rounds past a sign of life": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if was := f.Status.ActivityChecks; was != nil && st.ActivityChecks != nil && st.ActivityChecks.Degraded && !was.Degraded {
			st.ActivityChecks.Failed, st.ActivityChecks.FailedAt = was.Failed, was.FailedAt
		}
		return st, act
	},
	"lets a failed round speak for ever": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if a := f.Status.ActivityChecks; a != nil && a.FailedAt != nil {
			at := observed.StampOf(now)
			a.FailedAt = &at
		}
	}),
	"fences what is degraded, however short": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if a := f.Status.ActivityChecks; a != nil && a.Degraded {
			at := observed.StampOf(now.Add(-time.Hour))
			a.DegradedSince = &at
		}
	}),
	"does not ask for the storage": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Status.Decision.Settings.StorageCheck = nil }),
	"does not hear that the storage is unreachable": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if r := f.Status.StorageCheck; r != nil && r.StartedAt == nil {
			r.Results = nil
		}
	}),
	"begins a round of checks before it has asked the limits": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.MayCheck, s.Verdict = true, nil
	}),
}

func eachAnswer(s *observed.Look, change func(api.Answer) api.Answer) {
	if s.Checked == nil {
		return
	}
	c := *s.Checked
	c.Results = slices.Clone(c.Results)
	for i := range c.Results {
		c.Results[i].Answer = change(c.Results[i].Answer)
	}
	s.Checked = &c
}
