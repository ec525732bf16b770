package gate

import (
	"errors"
	"time"
)

// CallTimeout is the longest that one call to a device may take. It is shorter than what
// any platform gives a function (S7).
type CallTimeout time.Duration

// Decode reads it from the environment.
func (c *CallTimeout) Decode(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > 20*time.Second {
		return errors.New("a call to a device takes from 1s to 20s")
	}
	*c = CallTimeout(d)
	return nil
}
