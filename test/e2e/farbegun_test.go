package e2e

import (
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestItsProgramDiesBetweenOffAndOn: Fence Agents Remediation has written its conditions, switched the machine off,
// and died. Its Lease stands still. nodefence takes the object over, and the machine is on in the end (S12, S25).
// A machine that an administrator has switched off stays off, also under a new object with action reboot.
func TestItsProgramDiesBetweenOffAndOn(t *testing.T) {
	w := newWorld(t, 4, quick)
	w.remediations()
	begun, off := w.database(1), ""
	for i := range 4 {
		if node(i) != begun {
			off = node(i)
		}
	}
	w.byFAR(begun)
	w.byFAR(off)
	holder, seconds := "far-controller-1", int32(5)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: far.LeaderLease}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds}}
	_, err := w.Kube.CoordinationV1().Leases("default").Create(w.ctx, lease, metav1.CreateOptions{})
	must(t, err)

	o := w.far(begun, "", nil)
	w.begunByFAR(o)
	w.node(begun, "power-loss") // its agent's Off
	w.node(off, "power-loss")   // an administrator's
	again := w.far(off, "", nil)
	w.start(adopting)

	w.moved("db-0", begun)
	f := w.phase(begun, api.Finished)
	if f.Status.Outcome != api.Recovered || !f.Status.Power.RebootOver {
		t.Errorf("%s: %+v\n%s", f.Status.Outcome, f.Status.Power, rig.Story(f))
	}
	w.words(begun, "on")
	w.farGone(o)

	if got := w.followed(again); !strings.HasPrefix(got[len(got)-1], "False True True") {
		t.Fatalf("the new object stands at %s", got)
	}
	f = w.phase(off, api.Fenced)
	if f.Status.Reason != api.StaysOff || f.Status.Power.OnCalls != 0 {
		t.Errorf("%s: %+v\n%s", f.Status.Reason, f.Status.Power, rig.Story(f))
	}
	w.words(off, "")
	w.oneWriter()
}

// begunByFAR gives an object what Fence Agents Remediation itself writes first: its finalizer and its conditions.
func (w *world) begunByFAR(o *far.Object) {
	w.t.Helper()
	_, err := w.fars().Patch(w.ctx, o.Name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"finalizers":[%q]}}`, far.Finalizer), metav1.PatchOptions{})
	must(w.t, err)
	var conditions []string
	for typ, is := range map[string]string{"Processing": "True", "FenceAgentActionSucceeded": "Unknown", "Succeeded": "Unknown"} {
		conditions = append(conditions, fmt.Sprintf(`{"type":%q,"status":%q,"reason":"RemediationStarted","message":"FAR CR was found, its name matches one of the cluster nodes, and a finalizer was set to the CR","lastTransitionTime":"2026-01-01T00:00:00Z"}`, typ, is))
	}
	_, err = w.fars().Patch(w.ctx, o.Name, types.MergePatchType, []byte(`{"status":{"conditions":[`+strings.Join(conditions, ",")+`]}}`), metav1.PatchOptions{}, "status")
	must(w.t, err)
}
