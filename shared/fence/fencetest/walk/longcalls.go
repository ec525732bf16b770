package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
)

// The walk of a fence whose device calls may take longer than usual. Its device is as slow as it
// may be: in a world that means well each call takes the whole time.

func (s *State) isLong() bool { return s.spec.Decision.CallLimit() > api.DeviceCall }

// longWaits are the ends of a call that takes the whole time, and what lies past each limit that
// is longer by it.
func longWaits(s *State) []time.Duration {
	if !s.isLong() {
		return nil
	}
	switch s.st.Phase {
	case api.Probing, api.Fencing, api.PoweringOn:
		return []time.Duration{specs.LongCall, promisedDecisionOf(&s.spec.Decision) + time.Second}
	case api.Releasing:
		return []time.Duration{promisedProofOf(&s.spec.Decision) + time.Second}
	case "", api.Pending, api.Isolating:
		return []time.Duration{promisedDecisionOf(&s.spec.Decision) + time.Second}
	}
	return nil
}

// callTakes is how long a call to the device takes in a world that means well.
func (s *State) callTakes() time.Duration {
	if s.isLong() {
		return specs.LongCall
	}
	return 0
}
