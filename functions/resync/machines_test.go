package resync

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestFailedMachinesAreTold of the nodes that they have, at each tick with another
// event, and not while a fence is open.
func TestFailedMachinesAreTold(t *testing.T) {
	s := &shown{}
	s.policy.Spec.Machines = &api.MachinesRule{Selector: &api.LabelSelector{}}
	failed := func(name, node string, change func(*policy.Machine)) {
		m := policy.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "m", Name: name, CreationTimestamp: metav1.NewTime(now)}}
		m.Status.Phase = "Failed"
		if node != "" {
			m.Status.NodeRef = &policy.NodeRef{Name: node}
		}
		change(&m)
		s.machines = append(s.machines, m)
	}
	failed("x", "b", func(m *policy.Machine) { m.UID = "x" })
	yes := true
	failed("y", "", func(m *policy.Machine) {
		m.UID, m.OwnerReferences = "y", []metav1.OwnerReference{{UID: "set", Controller: &yes}}
	})
	failed("z", "gone", func(*policy.Machine) {})
	b := &broker{}
	w := &Resyncer{Objects: s, Source: events.SourceOf("c"), Sender: b, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	for name, c := range map[string]struct {
		fences []api.NodeFence
		held   bool
		want   []string
	}{
		"of b":                 {nil, false, []string{"b " + events.NodeUnhealthy}},
		"it is fenced":         {[]api.NodeFence{record("b", api.Pending, -time.Hour)}, false, nil},
		"it was fenced":        {[]api.NodeFence{record("b", api.Finished, never)}, false, []string{"b " + events.NodeUnhealthy}},
		"it is left alone":     {nil, true, nil},
		"of y, deleted for it": {[]api.NodeFence{record("b", api.Pending, -time.Hour)}, false, []string{"y " + events.NodeUnhealthy}},
		"its record is open":   {[]api.NodeFence{record("b", api.Pending, -time.Hour), record("y", api.Fencing, -time.Hour)}, false, nil},
	} {
		s.machines[0].Annotations = nil
		if c.held {
			s.machines[0].Annotations = map[string]string{"cluster.x-k8s.io/paused": ""}
		}
		s.policy.Spec.Action, s.policy.Spec.Machines.WithoutNode = api.ActionReboot, new(api.ReportMachine)
		if strings.Contains(name, "deleted") || strings.Contains(name, "record") {
			s.policy.Spec.Machines.WithoutNode = new(api.DeleteMachine)
		}
		b.got, w.Fences = nil, records{all: c.fences}
		if err := w.Resync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, b.got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
