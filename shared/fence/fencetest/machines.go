package fencetest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// Expecting is a policy that expects these nodes.
func Expecting(nodes ...string) api.FencePolicy {
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.MissingNodes = &api.MissingNodesRule{NodeNames: nodes}
	return p
}

// Machine is one of the pool db, with a node or, where that is empty, with none.
func Machine(name, node string, created time.Time, change ...func(*policy.Machine)) policy.Machine {
	m := policy.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "m", Name: name, CreationTimestamp: metav1.NewTime(created), Labels: map[string]string{"pool": "db"}}}
	if node != "" {
		m.Status.NodeRef = &policy.NodeRef{Name: node}
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

// FailedMachine has a Machine be in phase Failed.
func FailedMachine(m *policy.Machine) {
	m.UID, m.Status.Phase, m.Status.ErrorReason, m.Status.ErrorMessage = types.UID(m.Name), "Failed", "InsufficientResources", "no\nroom"
	yes := true
	m.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineSet", Name: "pool", UID: "pool", Controller: &yes}}
}

// MachineFence is the record of a fence on account of a Machine.
func MachineFence(node, machine, owner string, phase api.Phase, opened time.Time, past ...time.Time) api.NodeFence {
	at := observed.StampOf(opened)
	f := api.NodeFence{Spec: api.NodeFenceSpec{NodeName: node}, Status: api.NodeFenceStatus{FenceNumber: 3, Decision: api.Decision{Trigger: api.Trigger{
		Type: api.TriggerMachine, Machine: &api.MachineTrigger{State: api.MachineStateRemediate,
			MachineRef: api.MachineRef{Namespace: "m", Name: machine, UID: types.UID(machine), Owner: types.UID(owner)}}}}}}
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, FenceNumber: 3, Phase: phase, OpenedAt: &at, CutOrReleased: true}
	for _, p := range past {
		f.Status.Past = append(f.Status.Past, api.PastFence{OpenedAt: observed.StampOf(p)})
	}
	return f
}
