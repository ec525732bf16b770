package view

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhoChangedABrake: the note of a brake has the name and the time of the last act, and of no earlier one.
func TestWhoChangedABrake(t *testing.T) {
	at := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	stop := func(generation int64, to string, is api.FenceActSpec) api.FenceAct {
		is.Object, is.Field, is.To, is.At = api.ActObject{UID: "u", Generation: generation}, api.ActStop, to, at
		return api.FenceAct{Spec: is}
	}
	ann, bare := api.FenceActSpec{By: "ann"}, api.FenceActSpec{Unnamed: true, Manager: "kubectl-patch", Seen: true}
	before := bare
	before.MadeBefore = true
	for name, c := range map[string]struct {
		acts []api.FenceAct
		want string
	}{
		"none is known":       {nil, ""},
		"by ann":              {[]api.FenceAct{stop(2, "true", ann)}, "; stopped by ann at 2026-01-02T03:04:05Z;"},
		"by ann, then bare":   {[]api.FenceAct{stop(4, "true", bare), stop(2, "true", ann), stop(3, "false", ann)}, "; stopped by somebody who gave no name (field manager kubectl-patch), seen at 2026-01-02T03:04:05Z;"},
		"while nobody looked": {[]api.FenceAct{stop(2, "true", before)}, "; stopped by somebody who gave no name (field manager kubectl-patch), before 2026-01-02T03:04:05Z;"},
		"the stop that stands is not recorded yet": {[]api.FenceAct{stop(2, "true", ann), stop(3, "false", ann)}, ""},
	} {
		s := Seen{Acts: c.acts, Ledger: &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: api.FenceLedgerSpec{Stop: true}}}
		notes := strings.Join(s.Brakes(), "\n")
		if c.want == "" && strings.Contains(notes, "stopped by") || !strings.Contains(notes, c.want) {
			t.Errorf("%s: %s", name, notes)
		}
	}
	if was := WithoutWho("is sent (x); stopped by ann at T; kubectl fence start"); was != "is sent (x); kubectl fence start" {
		t.Error(was)
	}
	paused := Seen{
		Policies: []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "workers", UID: types.UID("p")}, Spec: api.FencePolicySpec{PauseRequests: []string{"upgrade"}}}},
		Acts:     []api.FenceAct{{Spec: api.FenceActSpec{Object: api.ActObject{UID: "p", Generation: 2}, Field: api.ActPause, To: "upgrade", At: at, By: "ann"}}},
	}
	if notes := strings.Join(paused.Pauses(), "\n"); !strings.Contains(notes, "paused by upgrade; last changed by ann at 2026-01-02T03:04:05Z; kubectl fence resume workers") {
		t.Error(notes)
	}
}
