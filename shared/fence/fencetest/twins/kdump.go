package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenKdump are Decides that lack one guard of a dump each.
var brokenKdump = map[string]walk.Decider{
	"does not hear a dump": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Dump = nil }),
	"does not hear one that begins after the yes": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Fencing {
			s.Dump = nil
		}
	}),
	"takes a refused look for the end of a dump": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if k := f.Status.Kdump; k != nil && s.Dump == nil {
			k.LastSeen = observed.StampOf(now.Add(-f.Status.Decision.Settings.Kdump.QuietDuration.Duration))
		}
	}),
	"does not wait for a first message": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		r := *f.Status.Decision.Settings.Kdump
		r.FirstMessageTimeout.Duration = 0
		f.Status.Decision.Settings.Kdump = &r
	}),
	"waits for a dump for ever": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if k := f.Status.Kdump; k != nil {
			k.Since = observed.StampOf(now)
		}
	}),
	"hears of another node's dump": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if s.Dump != nil {
			m := *s.Dump
			m.NodeUID = f.Status.Decision.NodeUID
			s.Dump = &m
		}
	}),
	"takes an old message for a new one": Before(func(_ *api.NodeFence, s *observed.Look, now time.Time) {
		if s.Dump != nil && s.Dump.Last.Before(now) {
			m := *s.Dump
			m.Last = now
			s.Dump = &m
		}
	}),
	"takes a message of the future for a new one": Before(func(_ *api.NodeFence, s *observed.Look, now time.Time) {
		if s.Dump != nil && s.Dump.Last.After(now) {
			m := *s.Dump
			m.Last = now
			s.Dump = &m
		}
	}),
	"believes a dump against a moving Lease": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Kdump != nil {
			s.Lease.Exists = false
		}
	}),
}
