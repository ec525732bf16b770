package power

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
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
			_, err := (&Power{Client: client}).Act(t.Context(), f, fence.DeleteMachine, observed.Look{})
			if errors.Is(err, kube.ErrConflict) != c.late || (requests == 0) != c.late {
				t.Errorf("%v, %d requests", err, requests)
			}
		})
	}
}

// TestTheNodesAreSeenBeforeAMachineIsDeleted: a Machine that names no node is not deleted if a
// Node may be its own by now, nor if the Nodes can't be read (S2: what is unknown is never taken
// for off).
func TestTheNodesAreSeenBeforeAMachineIsDeleted(t *testing.T) {
	const list, nodes = "/apis/machine.openshift.io/v1beta1/machines", "/api/v1/nodes"
	const machine = `{"metadata":{"namespace":"m","name":"x","uid":"x","resourceVersion":"7","ownerReferences":[{"uid":"s","controller":true}]},"spec":{"providerID":"p://1"}}`
	for name, c := range map[string]struct {
		nodes string
		want  string
	}{
		"a Node of another machine": {`{"items":[{"metadata":{"name":"a"},"spec":{"providerID":"p://2"}}]}`, ""},
		"a Node has joined": {`{"items":[{"metadata":{"name":"a"},"spec":{"providerID":"p://1"}}]}`,
			"it names no node, and Node a has its provider ID: see why nothing writes status.nodeRef, or delete this Machine by hand"},
		"no Node":          {`{"items":[]}`, "it names no node, and no Node was seen: whether a Node is its own is not known"},
		"Nodes not served": {"", "list " + nodes + ": "},
	} {
		t.Run(name, func(t *testing.T) {
			deleted := false
			objects := map[string]string{list: `{"items":[` + machine + `]}`}
			if c.nodes != "" {
				objects[nodes] = c.nodes
			}
			client := kubetest.Client(t, kubetest.Table(objects, func(w http.ResponseWriter, r *http.Request) {
				deleted = r.Method == http.MethodDelete
				kubetest.Answer(w, `{}`)
			}))
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "x"}, Status: api.NodeFenceStatus{Decision: api.Decision{Trigger: api.Trigger{Type: api.TriggerMachine, Machine: &api.MachineTrigger{MachineRef: api.MachineRef{UID: "x"}, State: api.MachineStateNoNode}}}}}
			f.Status.Machine = &api.MachineRecord{AskedAt: metav1.NewMicroTime(client.Clock().Now())}
			_, err := (&Power{Client: client}).Act(t.Context(), f, fence.DeleteMachine, observed.Look{})
			if said := fmt.Sprint(err); deleted != (c.want == "") || c.want != "" && !strings.HasPrefix(said, c.want) || c.want == "" && err != nil {
				t.Errorf("deleted %t: %v", deleted, err)
			}
		})
	}
}

func ago(d time.Duration) *time.Duration { return &d }
