package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenDry are Decides that take a dry run for more than it is.
var brokenDry = map[string]walk.Decider{
	"acts in a dry run": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.Mode = api.ModeEnforce
	}),
	"says that a dry run would begin which nobody has admitted": Before(func(_ *api.NodeFence, s *observed.Look, now time.Time) {
		if s.DryRun == nil {
			s.DryRun = &observed.DryRun{At: now}
		}
	}),
	"says that a node would be drained which nobody has admitted": Before(func(_ *api.NodeFence, s *observed.Look, now time.Time) {
		if s.DryRun == nil {
			s.DryRun = &observed.DryRun{At: now, Drain: true}
		}
	}),
}
