package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenBegun are those that lack a guard of a reboot that another program had begun.
var brokenBegun = map[string]walk.Decider{
	"leaves off what another program had begun to reboot": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			f.Status.Power.RebootOver = true
		}
	}),
	"switches on what was off again after another program's reboot": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			f.Status.Power.RebootOver = false
		}
	}),
}
