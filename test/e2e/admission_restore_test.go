package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// confirmers may both write the ledger; only anna may also confirm a restore.
const confirmers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: write-ledger}
rules: [{apiGroups: [nodefence.io], resources: [fenceledgers], verbs: [get, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: confirm-restore}
rules: [{apiGroups: [nodefence.io], resources: [fenceledgers], verbs: [confirm]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: write-ledger}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: write-ledger}
subjects: [{kind: User, name: anna}, {kind: User, name: ben}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: confirm-restore}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: confirm-restore}
subjects: [{kind: User, name: anna}]
`

// TestARestoreIsConfirmedInOnesOwnName, with the verb, and only the restore for which
// fences are held. Other users may write a ledger that is confirmed already (S16, S20).
func TestARestoreIsConfirmedInOnesOwnName(t *testing.T) {
	w := newWorld(t, 1, quick)
	must(t, w.Apply(w.ctx, confirmers))
	seen := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC))
	// write changes the ledger as that user, even if others write it meanwhile.
	write := func(who string, change func(*api.FenceLedger)) (r refusal) {
		w.until("the ledger to be free", func() (bool, error) {
			l, err := w.Fences.Ledger(w.ctx)
			if err != nil {
				return false, err
			}
			change(l)
			err = w.setLedger(who, l)
			var status apierrors.APIStatus
			if apierrors.IsConflict(err) {
				return false, nil
			}
			if r = (refusal{}); errors.As(err, &status) {
				r, err = refusal{status.Status().Code, status.Status().Message}, nil
			}
			return true, err
		})
		return r
	}
	says := func(by string, at metav1.MicroTime) func(*api.FenceLedger) {
		return func(l *api.FenceLedger) { l.Spec.RestoreConfirmed = &api.RestoreConfirmed{By: by, SeenAt: at} }
	}
	tries := time.Duration(0)
	w.until("the admission policy to hold", func() (bool, error) {
		tries++ // a confirmation that is already there needs no verb
		return strings.Contains(write("ben", says("anna", metav1.NewMicroTime(seen.Add(tries*time.Minute)))).says, "must be your own name"), nil
	})
	w.review("anna", authorizationv1.ResourceAttributes{Group: api.GroupVersion.Group, Resource: "fenceledgers", Verb: "confirm", Name: api.LedgerName})
	if r := write("anna", says("anna", seen)); r.code != 422 || !strings.Contains(r.says, "must be status.restored.seenAt") {
		t.Errorf("a word of no restore: %+v", r)
	}
	restored := func(l *api.FenceLedger) { l.Status.Restored = &api.Restored{SeenAt: seen, From: "9", To: "7"} }
	w.until("the ledger to tell of a restore", func() (bool, error) {
		l, err := w.Fences.Ledger(w.ctx)
		must(t, err)
		restored(l)
		_, err = w.Fences.SaveLedger(w.ctx, l)
		return err == nil, nil
	})
	for name, c := range map[string]struct {
		who, by string
		at      time.Duration
		refused refusal
	}{
		"in another's name":  {"ben", "anna", 0, refusal{422, "spec.restoreConfirmed.by must be your own name, ben"}},
		"without the verb":   {"ben", "ben", 0, refusal{403, "it needs the verb confirm on fenceledgers"}},
		"of another restore": {"anna", "anna", time.Second, refusal{422, "must be status.restored.seenAt"}},
	} {
		r := write(c.who, says(c.by, metav1.NewMicroTime(seen.Add(c.at))))
		if r.code != c.refused.code || !strings.Contains(r.says, c.refused.says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := write("anna", says("anna", seen)); r != (refusal{}) {
		t.Fatalf("with the verb, in her own name: %+v", r)
	}
	if r := write("ben", func(l *api.FenceLedger) { l.Spec.Stop = true }); r != (refusal{}) {
		t.Errorf("her word stands, and another writes: %+v", r)
	}
}
