package admission_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// busyDay is a ledger under which fences of policies begin, a second apart.
type busyDay struct {
	l   *api.FenceLedger
	c   admission.Picture
	now time.Time
	n   int
}

// asks is a fence of the next node, which no policy's selector chooses any more, under a
// policy with this rate; a count of 0 is none.
func (d *busyDay) asks(policy string, count int32, period time.Duration) (*api.NodeFence, *observed.Verdict) {
	f, _, _ := fencetest.World(d.now)
	d.n++
	f.Spec.NodeName, f.UID = fmt.Sprint("gone", d.n), types.UID(fmt.Sprint("f", d.n))
	fencetest.Limits(f).Policy, fencetest.Limits(f).Selector = policy, &api.LabelSelector{MatchLabels: map[string]string{"pool": policy}}
	if count > 0 {
		fencetest.Limits(f).MaxRate = &api.ResolvedRate{Count: count, Period: metav1.Duration{Duration: period}}
	}
	return f, admission.Rate(f, d.c, d.l, d.now)
}

// begin has so many fences begin.
func (d *busyDay) begin(t *testing.T, n int, policy string, count int32, period time.Duration) {
	t.Helper()
	for range n {
		f, v := d.asks(policy, count, period)
		if v != nil {
			t.Fatalf("%s, fence %d: %+v", policy, d.n, v)
		}
		admission.Reserve(f, d.c, d.l, d.now)
		d.l.Status.Reservations, d.l.Status.UnderWay = nil, nil
		d.now = d.now.Add(time.Second)
	}
}

// began is that so many have begun, of which a rate counted those of a policy that has one.
func (d *busyDay) began(n int, policy string, rated bool) {
	for range n {
		d.n++
		r := api.Reservation{NodeName: fmt.Sprint("gone", d.n), FenceUID: types.UID(fmt.Sprint("f", d.n)), FenceNumber: 1, At: observed.StampOf(d.now)}
		if rated {
			r.CountedBy = []api.CountedBy{{Policy: policy}}
		}
		d.l.Status.Admitted, d.now = append(d.l.Status.Admitted, r), d.now.Add(time.Second)
	}
}

// TestNoCutLoosensARate: thousands of fences of others make no room under a rate (S14).
func TestNoCutLoosensARate(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		before func(*testing.T, *busyDay)
		count  int32
		period time.Duration
		want   api.Reason
	}{
		"others have no rate": {func(t *testing.T, d *busyDay) {
			d.began(3, "db", true)
			d.began(2045, "cattle", false)
			d.begin(t, 5, "cattle", 0, 0)
		}, 3, day, api.TooManyInATime},
		"others have a short one": {func(t *testing.T, d *busyDay) {
			d.began(3, "db", true)
			d.began(2045, "cattle", true)
			d.begin(t, 5, "cattle", 1000, 10*time.Minute)
		}, 3, day, api.TooManyInATime},
		"its own has begun thousands": {func(t *testing.T, d *busyDay) {
			d.began(2045, "db", true)
			d.begin(t, 5, "db", 5, 5*time.Second)
		}, 1000, day, api.TooManyInATime},
		"it is lengthened": {func(t *testing.T, d *busyDay) {
			d.began(30, "db", true)
			d.began(1500, "cattle", false)
			d.begin(t, 5, "cattle", 0, 0)
		}, 30, day, api.TooManyInATime},
		"others may count all that is kept": {func(_ *testing.T, d *busyDay) {
			d.began(1000, "a", true)
			d.began(1000, "b", true)
			d.began(48, "c", true)
		}, 3, day, api.TooManyInATime},
		"and until there is room again": {func(_ *testing.T, d *busyDay) {
			d.began(1000, "a", true)
			d.began(1000, "b", true)
			d.began(48, "c", true)
			d.now = fencetest.Start.Add(day)
		}, 3, day, ""},
		"its own make room for it": {func(_ *testing.T, d *busyDay) {
			d.began(1000, "a", true)
			d.began(1000, "b", true)
			d.began(48, "db", true)
		}, 3, 2 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &busyDay{l: &api.FenceLedger{}, now: fencetest.Start}
			c.before(t, d)
			got := api.Reason("")
			f, v := d.asks("db", c.count, c.period)
			if v != nil {
				got = v.Reason
			} else {
				admission.Reserve(f, d.c, d.l, d.now)
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if n := len(d.l.Status.Admitted); n > admission.MaxAdmitted {
				t.Errorf("%d are kept", n)
			}
		})
	}
}

// TestAFullListHoldsNobodyWithoutARate.
func TestAFullListHoldsNobodyWithoutARate(t *testing.T) {
	d := &busyDay{l: &api.FenceLedger{}, now: fencetest.Start}
	d.began(1000, "a", true)
	d.began(1000, "b", true)
	d.began(48, "c", true)
	d.begin(t, 10, "cattle", 0, 0)
	if n := len(d.l.Status.Admitted); n != admission.MaxAdmitted || len(d.l.Status.Admitted[n-1].CountedBy) == 0 {
		t.Errorf("%d are kept", n)
	}
}
