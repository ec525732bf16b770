package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenSupplies take a machine that is on for one of which all supplies are.
var brokenSupplies = map[string]walk.Decider{
	"takes one supply that is on for all": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		if s.Call != nil {
			s.Call.MissingSupply = ""
		}
	}),
}
