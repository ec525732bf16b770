package fence

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Observed is what was read of a cluster.
type Observed struct {
	Nodes   []ClusterNode
	Fences  []api.NodeFence
	Budgets []api.FenceBudget
	// Policies have in their status what is missing, and which Machines failed.
	Policies []api.FencePolicy
	Machines []Machine
	// MachinesUnread: they were to be read and could not be.
	MachinesUnread bool
	Etcd           EtcdObserved
	// Apart is how far the clocks of two API servers were seen to lie apart, beyond
	// what every reservation allows for.
	Apart time.Duration
	// Zones are those that the policies' pause windows name, for the status of policies.
	Zones Zones
}

// EtcdObserved is what was read of etcd.
type EtcdObserved struct {
	// Members are how those stand that decide about one fence, and From by what those are
	// known that are not healthy.
	Members map[string]bool
	From    map[string]string
	// Lists are what other policies than the fence's own list.
	Lists map[string][]string
	// Shown are the members that static pods show, and ShownBy by what those of them are
	// known of which no healthy pod is there: for the status of policies.
	Shown   []string
	ShownBy map[string]string
	// Unread: the pods were to be read and could not be.
	Unread bool
}

// Renewed has in each policy's status what is missing and failed by what was read. It is for
// the second waker, which writes that status: everybody else counts what is written there.
func (o Observed) Renewed(now time.Time) Observed {
	there := Cluster{Nodes: o.Nodes, Fences: o.Fences, Machines: o.Machines}
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
