package power

import (
	"errors"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestNoMachineIsDeletedLate: a process that stood still begins nothing that was asked
// for long ago.
func TestNoMachineIsDeletedLate(t *testing.T) {
	for name, c := range map[string]struct {
		asked *time.Duration
		late  bool
	}{
		"just now":      {new(time.Duration), false},
		"too long ago":  {ago(facts.ActWithin + time.Second), true},
		"not asked for": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				kubetest.Answer(w, `{"items":[]}`)
			}))
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "x"}, Status: api.NodeFenceStatus{Decision: api.Decision{Trigger: api.Trigger{Type: api.TriggerMachine, Machine: &api.MachineTrigger{MachineRef: api.MachineRef{UID: "x"}, State: api.MachineStateNoNode}}}}}
			if c.asked != nil {
				f.Status.Machine = &api.MachineRecord{AskedAt: metav1.NewMicroTime(client.Clock().Now().Add(-*c.asked))}
			}
			err := (&Power{Client: client}).Act(t.Context(), f, fence.DeleteMachine, &observed.Look{})
			if errors.Is(err, kube.ErrConflict) != c.late || (requests == 0) != c.late {
				t.Errorf("%v, %d requests", err, requests)
			}
		})
	}
}

func ago(d time.Duration) *time.Duration { return &d }
