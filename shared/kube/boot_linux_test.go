package kube

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestElapsedTimeIsThatOfTheBootClock: the kernel's uptime counts suspension.
func TestElapsedTimeIsThatOfTheBootClock(t *testing.T) {
	uptime := func() time.Duration {
		var s unix.Sysinfo_t
		if err := unix.Sysinfo(&s); err != nil {
			t.Fatal(err)
		}
		return time.Duration(s.Uptime) * time.Second
	}
	before := uptime()
	got := NewClock().elapsed()
	if after := uptime(); got < before-time.Second || got > after+time.Second {
		t.Errorf("%s, and the kernel is up for %s to %s", got, before, after)
	}
}
