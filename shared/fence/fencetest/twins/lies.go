package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenLies lack a guard of a power cut that the boot ID refutes.
var brokenLies = map[string]walk.Decider{
	"believes the device again after a cut that was none": believing(api.Fencing),
	"cuts again by a device whose cut was none":           believing(api.Fencing),
	"lets a fence begin after a cut that was none":        believing(api.Pending),
	"forgets a cut that was none when the next fence opens": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == "" {
			f.Status.Refuted = nil
		}
	}),
	"judges a cut by a status from before it": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if c := f.Status.ProvenCut; c != nil {
			q := *c
			q.Heartbeat = "never"
			f.Status.ProvenCut = &q
		}
	}),
	"refutes a cut by one status": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if c := f.Status.ProvenCut; c != nil && c.HeartbeatSince == "" {
			q := *c
			q.HeartbeatSince = "never"
			f.Status.ProvenCut = &q
		}
	}),
	"overlooks the boot ID of a Node that was registered anew": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := f.Status.ProvenCut; c != nil && s.Node.UID != c.NodeUID {
			s.Node.Heartbeat = c.Heartbeat
		}
	}),
	"takes a Ready that a controller wrote for the kubelet's": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := f.Status.ProvenCut; c != nil && s.Node.Heartbeat != c.Heartbeat && !s.Node.KubeletSays() {
			s.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "False"}}
		}
	}),
	"takes a boot ID that several nodes have for evidence": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.BootIDShared = false }),
	"takes another boot for the one of before": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := f.Status.ProvenCut; c != nil {
			s.Node.BootID = c.BootID
		}
	}),
	"ends a fence before its cut is judged": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if f.Status.Phase == api.Recovering && f.Status.Outcome == api.Recovered {
			f.Status.ReadySince = stampOf(now.Add(-time.Hour))
		}
	}),
	"waits for ever for the judgment of a cut": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if f.Status.Phase == api.Recovering && f.Status.Outcome == api.Recovered {
			f.Status.ReadySince = stampOf(now)
		}
	}),
	"ends a fence whose cut was none as recovered": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if r := f.Status.Refuted; r != nil && f.Status.Phase == api.Recovering {
			q := *r
			q.FenceNumber = 99
			f.Status.Refuted = &q
		}
	}),
}

// believing overlooks in a phase that a cut is refuted.
func believing(p api.Phase) walk.Decider {
	return Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == p {
			f.Status.Refuted = nil
		}
	})
}

func stampOf(t time.Time) *api.Time { return new(observed.StampOf(t)) }
