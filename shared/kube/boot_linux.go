package kube

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot counts suspension too, which Go's monotonic clock does not (S8).
func sinceBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Since(started)
	}
	return time.Duration(ts.Nano())
}

var started = time.Now()
