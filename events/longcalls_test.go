package events

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAWakeUpExpiresNoSoonerThanTheYesBehindIt, by the fence's own longest call (S17).
func TestAWakeUpExpiresNoSoonerThanTheYesBehindIt(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{0: 60 * time.Second, 5 * time.Second: 60 * time.Second, time.Minute: 100 * time.Second} {
		f := fenceIn(api.Fencing)
		f.Status.Decision.DeviceCallTimeout = metav1.Duration{Duration: limit}
		e := SourceOf("c").Phase(f, at, at)
		if Expired(e, at.Add(want)) || !Expired(e, at.Add(want+time.Second)) {
			t.Errorf("calls of %s: it expires at %v, want after %s", limit, e.Extensions()[ExpiryTime], want)
		}
	}
}
