package agent

import (
	"github.com/nodefence/nodefence/shared/device/agent/supervisor"
)

// What a supervisor gets, and what it reports.
type (
	job     = supervisor.Job
	outcome = supervisor.Outcome
	text    = supervisor.Text
)
