package agent

import (
	"github.com/nodefence/nodefence/shared/device/agent/supervisor"
)

// What a supervisor is told, and what it tells.
type (
	job     = supervisor.Job
	outcome = supervisor.Outcome
	text    = supervisor.Text
)
