package admission

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Renewed has in each policy's status what is missing and failed by what was read. It is for
// policystatus, which writes that status, and for resync, which has nobody told
// of what only a status says: everybody else counts what is written there.
func (o Observed) Renewed(now time.Time) Observed {
	there := o.present()
	o.Policies = slices.Clone(o.Policies)
	for i := range o.Policies {
		was := &o.Policies[i]
		if !o.Knows(was) {
			continue // what was missing stays on record
		}
		p := was.DeepCopy()
		if !p.NotUnderstood.In("status.missing") {
			p.Status.Missing, p.Status.MissingCount = listed(missingNow(was, there, now))
		}
		if !p.NotUnderstood.In("status.failedMachines") {
			p.Status.FailedMachines, p.Status.FailedMachinesCount = listed(failedNow(was, there, now))
		}
		o.Policies[i] = *p
	}
	return o
}

// Knows tells whether all was read that says what is missing under a policy.
func (o Observed) Knows(p *api.FencePolicy) bool { return !o.MachinesUnread || p.Spec.Machines == nil }
