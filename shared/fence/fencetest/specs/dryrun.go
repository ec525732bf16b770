package specs

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// DryRun is of a fence whose policy is in mode DryRun.
func DryRun() fencetest.Given { return dry(fencetest.Spec()) }

// DryDrain is of one whose node would be drained while it lives.
func DryDrain() fencetest.Given { return dry(Draining()) }

// DryChecks is of one whose node would be checked first.
func DryChecks() fencetest.Given { return dry(Activity()) }

func dry(s fencetest.Given) fencetest.Given {
	s.Decision.Settings.Mode = api.ModeDryRun
	return s
}
