package gate

import (
	"fmt"
	"time"
)

// CallTimeout is the longest that one call to a device may take. It is shorter than what
// any platform gives a function (S7).
type CallTimeout time.Duration

// Decode reads it from the environment.
func (c *CallTimeout) Decode(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > 20*time.Second {
		return fmt.Errorf("%q is no time for a call to a device: write one from 1s to 20s", text)
	}
	*c = CallTimeout(d)
	return nil
}
