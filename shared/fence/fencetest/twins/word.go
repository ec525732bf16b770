package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenWord are those that lack a guard of a person's word that the machine is off.
var brokenWord = map[string]walk.Decider{
	"believes a person against a moving Lease": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Spec.Requests.ConfirmOff != nil && f.Status.Phase == api.Fencing {
			s.Lease.Exists, f.Status.Lease.StillSince = false, nil
		}
	}),
	"does not look at the Lease": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Lease.Exists = false }),
	"believes a person against a device that reads on": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := s.Call; f.Status.Phase == api.Fencing && c != nil && c.Power == "On" {
			c.Power = ""
		}
	}),
	"believes a person once a device was silent once": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		for _, r := range wordReads(f) {
			if r.First != nil && r.Last != nil && r.Last.At.Equal(&r.First.At) {
				r.First.At = observed.StampOf(r.First.At.Add(-10 * time.Second))
			}
		}
	}),
	"believes a person by the first device alone": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if dec := &f.Status.Decision; f.Status.Phase == api.Fencing && f.Status.Claim == nil {
			dec.Devices = dec.Devices[:1]
		}
	}),
	"believes a person without a read": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Fencing && f.Status.Claim == nil {
			f.Status.Decision.Devices = nil
		}
	}),
}

// wordReads are copies of what was read for the word, in the record.
func wordReads(f *api.NodeFence) (all []*api.ConfirmRead) {
	f.Status.ConfirmReads = f.Status.ConfirmReads.DeepCopy()
	if r := f.Status.ConfirmReads; r != nil && f.Status.Phase == api.Fencing {
		for i := range r.Devices {
			all = append(all, &r.Devices[i])
		}
	}
	return all
}
