package power

import (
	"net/http"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestPowerLooksAtTheMachineBeforeTheFirstOff, and never after it: by then our own fence
// may have deleted it (S25).
func TestPowerLooksAtTheMachineBeforeTheFirstOff(t *testing.T) {
	const machine = "/apis/machine.openshift.io/v1beta1/namespaces/m/machines/x"
	answers := map[string]string{
		"/api/v1/nodes/a": `{"metadata":{"name":"a","annotations":{"machine.openshift.io/machine":"m/x"}}}`,
		machine:           `{"metadata":{"name":"x","deletionTimestamp":"2026-05-01T12:00:00Z"},"status":{"nodeRef":{"name":"a"}}}`,
		"/apis/nodefence.io/v1alpha1/fenceledgers/cluster": `{"metadata":{"name":"cluster"}}`,
		"/apis/nodefence.io/v1alpha1/fencepolicies":        `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}]}`,
	}
	for name, c := range map[string]struct {
		phase api.Phase
		begun bool
		want  int
	}{
		"before the first Off": {api.Fencing, false, 1},
		"after it":             {api.Fencing, true, 0},
		"on the way back":      {api.PoweringOn, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == machine {
					asked++
				}
				kubetest.Table(answers, nil)(w, r)
			}))
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{FenceNumber: 1, Phase: c.phase}}
			f.Status.Power.SwitchedByUs = c.begun
			var seen observed.Look
			if err := (&Power{Client: client}).Look(t.Context(), f, &seen, 0); err != nil {
				t.Fatal(err)
			}
			if asked != c.want || (seen.Node.Deleting != "") != (c.want > 0) {
				t.Errorf("asked %d times, saw %q", asked, seen.Node.Deleting)
			}
		})
	}
}
