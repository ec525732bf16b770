//go:build !linux

package agent

import (
	"context"
	"errors"
)

// run needs Linux: only there it can be sure that an agent is gone (S10).
func run(context.Context, job) (outcome, error) {
	return outcome{}, errors.New("agents run on Linux only")
}
