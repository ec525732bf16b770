package specs

import (
	"time"

	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// LongCall is the longest that one call to the device of LongCalls may take: three times the
// usual.
const LongCall = time.Minute

// LongCalls is of a node whose device may be slow.
func LongCalls() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.DeviceCallTimeout.Duration = LongCall
	return s
}
