package look_test

import (
	"math"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/look"
)

func TestALeaseIsAMarkAndAPace(t *testing.T) {
	forty, none, slow, never := int32(40), int32(0), int32(100), int32(math.MaxInt32)
	at := metav1.NewMicroTime(noon.In(time.FixedZone("x", 3600)))
	for name, c := range map[string]struct {
		spec    coordinationv1.LeaseSpec
		mark    string
		renewal time.Duration
		tooSlow time.Duration
	}{
		"the kubelet's":         {coordinationv1.LeaseSpec{RenewTime: &at, LeaseDurationSeconds: &forty}, "2026-05-01T12:00:00.123456Z", 10 * time.Second, 0},
		"one without duration":  {coordinationv1.LeaseSpec{RenewTime: &at}, "2026-05-01T12:00:00.123456Z", 10 * time.Second, 0},
		"a duration of nothing": {coordinationv1.LeaseSpec{RenewTime: &at, LeaseDurationSeconds: &none}, "2026-05-01T12:00:00.123456Z", 10 * time.Second, 0},
		"never renewed":         {coordinationv1.LeaseSpec{LeaseDurationSeconds: &forty}, "", 10 * time.Second, 0},
		"a slow one":            {coordinationv1.LeaseSpec{LeaseDurationSeconds: &slow}, "", 25 * time.Second, 0},
		// Its node writes it: what it says of itself may hold nobody else (S14, S15).
		"one for half a life": {coordinationv1.LeaseSpec{LeaseDurationSeconds: &never}, "", 25 * time.Second, math.MaxInt32 * time.Second / 4},
	} {
		l := &coordinationv1.Lease{Spec: c.spec}
		if mark, renewal := look.LeaseMark(l), look.LeaseRenewal(l); mark != c.mark || renewal != c.renewal {
			t.Errorf("%s: %q, %s", name, mark, renewal)
		}
		if said, too := look.LeaseTooSlow(l); said != c.tooSlow || too != (c.tooSlow > 0) {
			t.Errorf("%s: says %s, too slow: %t", name, said, too)
		}
	}
}
