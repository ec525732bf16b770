package e2e

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestACoolDownIsEndedByItsName: a word names cool-downs that are in the ledger, each of them, and no other one
// (S15).
func TestACoolDownIsEndedByItsName(t *testing.T) {
	w := newWorld(t, 1, quick)
	until := func(minutes time.Duration) metav1.MicroTime {
		return metav1.NewMicroTime(time.Date(2126, 1, 2, 3, 4, 5, 678901000, time.UTC).Add(minutes * time.Minute))
	}
	one, two := until(1), until(2)
	w.until("the ledger to have two cool-downs", func() (bool, error) {
		l, err := w.Fences.Ledger(w.ctx)
		must(t, err)
		l.Status.Storms = []api.Storm{{Policy: "p", Since: one, CoolDownUntil: &one}, {Policy: "q", Since: one, CoolDownUntil: &two}}
		_, err = w.Fences.SaveLedger(w.ctx, l)
		return err == nil, nil
	})
	says := func(last metav1.MicroTime, also ...metav1.MicroTime) error {
		l, err := w.Fences.Ledger(w.ctx)
		must(t, err)
		l.Spec.CoolDownEnded = &api.CoolDownEnded{By: "lab-admin", Reason: "mended", Until: last, AlsoUntil: also}
		return w.setLedger("", l)
	}
	tries := time.Duration(9)
	w.until("the admission policy to hold", func() (bool, error) {
		tries++ // a word that is already there is not new
		return says(until(tries)) != nil, nil
	})
	for want, err := range map[string]error{
		"spec.coolDownEnded.until must be":             says(until(3), one),
		"each of spec.coolDownEnded.alsoUntil must be": says(two, one, until(0)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	must(t, says(two, one))
	must(t, says(one))
}
