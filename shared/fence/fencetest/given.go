package fencetest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
) // given is what a fence is decided by and the automaton does not write: what the gate
// decided, and what people ask.
type Given struct {
	NodeName    string
	FenceNumber int64
	Decision    api.Decision
	Requests    api.Requests
}

// AsSpec is people's part of it.
func (g Given) AsSpec() api.NodeFenceSpec {
	return api.NodeFenceSpec{NodeName: g.NodeName, Requests: g.Requests}
}

// In is a status with the gate's part of it.
func (g Given) In(st api.NodeFenceStatus) api.NodeFenceStatus {
	st.FenceNumber, st.Decision = max(st.FenceNumber, g.FenceNumber), g.Decision
	return st
}

// To writes it into a record.
func (g Given) To(f *api.NodeFence) { f.Spec, f.Status = g.AsSpec(), g.In(f.Status) }

// GivenBy is what a record has of it.
func GivenBy(f *api.NodeFence) Given {
	return Given{f.Spec.NodeName, f.Status.FenceNumber, f.Status.Decision, f.Spec.Requests}
}

// Spec is of a node whose one device switches its power, under action Reboot.
func Spec() Given {
	d := func(s time.Duration) metav1.Duration { return metav1.Duration{Duration: s * time.Second} }
	return Given{
		NodeName: "n", FenceNumber: 1, Decision: api.Decision{NodeUID: "uid-1",
			Trigger: api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}, Since: metav1.NewMicroTime(Start)},
			ResolvedPolicy: api.ResolvedPolicy{
				Policy: api.PolicyRef{Name: "p"}, Settings: api.Settings{Action: api.ActionReboot, Mode: api.ModeEnforce,
					UnhealthyConditions: []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}},
					Power:               api.PowerSettings{MaxLevels: 4, OffTimeout: d(10), Attempts: 1, RetryInterval: d(1), Restarts: 1},
					Release:             api.ReleaseSettings{Strategy: api.ReleaseTaintAndDelete, Timeout: d(50)},
					Recovery:            api.RecoverySettings{BootTimeout: d(70), ReadyDuration: d(3), Uncordon: api.UncordonAutomatic},
					PerNode:             api.PerNodeSettings{CutsPerDay: 100, OnLast: api.OnLastLeaveOff}},
				Limits: []api.ScopedLimits{{Policy: "p"}},
			},
			DeviceCallTimeout: d(5),
			Devices:           api.Named(api.Binding{Driver: "mem", Address: "n", EffectDelay: d(3), Lead: &metav1.Duration{Duration: Lead}}),
		},
	}
}
