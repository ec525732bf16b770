package apiserver

import (
	"errors"
	"time"
)

// CheckInterval is how often the devices of a node are read, as a setting has it; 0 is never.
type CheckInterval time.Duration

// UnmarshalText refuses what is no duration, and one below 0.
func (i *CheckInterval) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return errors.New("write a number and its unit, as in 90s, 10m or 1h30m, or 0 for never")
	}
	*i = CheckInterval(d)
	return nil
}

// MarshalText is the form that UnmarshalText takes.
func (i CheckInterval) MarshalText() ([]byte, error) { return []byte(time.Duration(i).String()), nil }
