package v1alpha1

import (
	"testing"
	"time"
)

// TestDuration: what is left out, or is no duration, is the default, and never zero: a
// zero may be a brake that is off.
func TestDuration(t *testing.T) {
	text := func(s string) *Duration { d := Duration(s); return &d }
	for name, c := range map[string]struct {
		set  *Duration
		want time.Duration
	}{
		"left out":             {nil, 5 * time.Minute},
		"seconds":              {text("90s"), 90 * time.Second},
		"zero, as it is meant": {text("0s"), 0},
		"days":                 {text("1d"), 5 * time.Minute},
		"nothing":              {text(""), 5 * time.Minute},
		"spelled by us":        {DurationOf(time.Hour), time.Hour},
	} {
		if got := c.set.Or(5 * time.Minute).Duration; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
