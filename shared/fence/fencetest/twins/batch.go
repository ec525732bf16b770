package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenGentle lack one guard of such a release each.
var brokenGentle = map[string]walk.Decider{
	"frees all at once where it is to go pod by pod": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.Release = api.ReleaseSettings{Timeout: f.Status.Decision.Settings.Release.Timeout}
	}),
	"forgets when it deleted last": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Status.Release.BatchAt = nil }),
	"does not ask the budgets": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		if s.Left != nil {
			left := *s.Left
			left.Delete = make([]observed.Pod, len(left.Delete))
			s.Left = &left
		}
	}),
}
