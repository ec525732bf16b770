package v1alpha1

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNoRecordHasLongerCallsThanMayBeSet, whatever somebody wrote into it: a slot is not kept, and
// a proof does not hold, for days (S3, S14).
func TestNoRecordHasLongerCallsThanMayBeSet(t *testing.T) {
	for says, want := range map[time.Duration]time.Duration{
		0: DeviceCall, -time.Second: DeviceCall, math.MinInt64: DeviceCall,
		time.Second: time.Second, time.Minute: time.Minute, LongestDeviceCall: LongestDeviceCall,
		LongestDeviceCall + 1: LongestDeviceCall, 100 * time.Hour: LongestDeviceCall, math.MaxInt64: LongestDeviceCall,
	} {
		d := &Decision{DeviceCallTimeout: metav1.Duration{Duration: says}}
		r := &Reservation{DeviceCallTimeout: &metav1.Duration{Duration: says}}
		if got := d.CallLimit(); got != want {
			t.Errorf("a record of %s: calls of %s, want %s", says, got, want)
		}
		if got := r.CallLimit(); got != want {
			t.Errorf("a slot of %s: calls of %s, want %s", says, got, want)
		}
		if longer := d.LongerCall(); (longer != nil) != (want > DeviceCall) || longer != nil && longer.Duration != want {
			t.Errorf("a record of %s: its slot says %v", says, longer)
		}
	}
	if got := (&Reservation{}).CallLimit(); got != DeviceCall {
		t.Errorf("a slot that does not say: calls of %s", got)
	}
}
