package functions

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/run"
)

// TestTheLongestCallIsNeverZero: everything that makes or waits for calls in this process has the
// same one, whether the settings come from the environment or from Go.
func TestTheLongestCallIsNeverZero(t *testing.T) {
	var read Settings
	if err := run.Environment(&read); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		s    Settings
		want time.Duration
	}{
		"not set":         {Settings{}, api.DeviceCall},
		"not set outside": {read, api.DeviceCall},
		"a minute":        {Settings{DeviceCall: CallTimeout(time.Minute)}, time.Minute},
	} {
		p := Parts{Settings: c.s}
		for what, got := range map[string]time.Duration{"the settings": c.s.LongestCall(), "the resolver": p.resolver().DeviceCall, "the checks": p.checker("power").DeviceCall} {
			if got != c.want {
				t.Errorf("%s, %s: %s, want %s", name, what, got, c.want)
			}
		}
	}
}
