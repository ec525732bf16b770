package run

import (
	"testing"
	"time"
)

func TestEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		pause, want string
	}{
		"not set":     {"", ""},
		"a duration":  {"90s", ""},
		"no duration": {"ten", `read PAUSE: "ten": time: invalid duration "ten"`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.pause != "" {
				t.Setenv("PAUSE", c.pause)
			}
			var s struct {
				Pause time.Duration `envconfig:"PAUSE" default:"5s"`
			}
			got := ""
			if err := Environment(&s); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
