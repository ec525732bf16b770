package resync

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

// perRound bounds how many nodes the gate is told of in one round. If more nodes are not
// Ready, it is a storm, and speed does not help.
const perRound = 20

// Objects is the part of the API server's client that the function needs.
type Objects interface {
	look.Machines
	Nodes(ctx context.Context) ([]corev1.Node, error)
	Policies(ctx context.Context) ([]api.FencePolicy, error)
}

// tellNodes tells the gate of nodes that have no open fence and may need one. Whether a
// node is missing or a Machine has failed is read now; since when, is read from the
// policy's status. Neither the status alone nor one look alone leads to an event. Objects
// that can't be read lead to no event.
func (r *round) tellNodes(ctx context.Context, fences []api.NodeFence, now time.Time) error {
	nodes, err := r.Objects.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("look at the nodes: %w", err)
	}
	o := admission.Observed{Nodes: look.ClusterNodes(nodes), Fences: fences}
	if o.Policies, err = r.Objects.Policies(ctx); err != nil {
		return fmt.Errorf("look at the policies: %w", err)
	}
	if len(o.Policies) == 0 {
		return nil
	}
	r.tellUnready(nodes, fences, now)
	var unread error
	if o.Machines, unread = look.MachinesFor(ctx, r.Objects, o.Policies); unread != nil {
		o.MachinesUnread = true
	}
	o = o.Renewed(now)
	for i := range o.Policies {
		if p := &o.Policies[i]; o.Knows(p) {
			r.tellMissing(p, fences, now)
			r.tellFailed(p, fences, now)
		}
	}
	return unread
}

// tellUnready sends the gate an event for each node that is not Ready and has no open
// fence. The source's own event may be lost, for example because the broker ran on that
// very node. The gate looks at the Node itself.
func (r *round) tellUnready(nodes []corev1.Node, fences []api.NodeFence, now time.Time) {
	told := 0
	for _, i := range rand.Perm(len(nodes)) {
		n := &nodes[i]
		k := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		if k < 0 || n.Status.Conditions[k].Status == corev1.ConditionTrue || open(fences, n.Name) {
			continue
		}
		c := n.Status.Conditions[k]
		if told++; told > perRound {
			return
		}
		r.tell(events.ConditionChange{
			Node: n.Name, NodeUID: string(n.UID), Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason,
			Since: c.LastTransitionTime.Time, Unhealthy: true,
		}, now, "is not Ready")
	}
}

// tellMissing does so for each node that has been missing for too long. The gate looks at
// the Node and at the policy's status itself.
func (r *round) tellMissing(p *api.FencePolicy, fences []api.NodeFence, now time.Time) {
	for _, m := range policy.Overdue(p, now) {
		if m.NodeName == "" || open(fences, m.NodeName) {
			continue
		}
		r.tell(events.ConditionChange{
			Node: m.NodeName, Reason: string(api.NodeMissing), Since: m.Since.Time, Unhealthy: true,
		}, now, "is missing")
	}
}

// tellFailed does so for each node that a policy fences because of its failed Machine.
func (r *round) tellFailed(p *api.FencePolicy, fences []api.NodeFence, now time.Time) {
	for i := range p.Status.FailedMachines {
		node, uid := p.Status.FailedMachines[i].Record(), p.Status.FailedMachines[i].NodeUID
		m := policy.MachineDue(p, node, uid, now)
		if p.Status.FailedMachines[i].NodeName == "" {
			m = policy.AloneDue(p, p.Status.FailedMachines[i].UID, now)
		}
		if m == nil || open(fences, node) {
			continue
		}
		r.tell(events.ConditionChange{
			Node: node, NodeUID: string(uid), Reason: string(api.MachineFailed), Since: m.Since.Time, Unhealthy: true,
		}, now, "has the failed Machine "+m.MachineRef.String())
	}
}

func open(fences []api.NodeFence, node string) bool {
	return slices.ContainsFunc(fences, func(f api.NodeFence) bool { return f.Spec.NodeName == node && f.Open() })
}

func (r *round) tell(c events.ConditionChange, now time.Time, what string) {
	e := r.Source.Condition(c, now.Truncate(facts.Resync), now)
	r.send(cmp.Or(c.Condition, c.Reason)+"/"+c.Node, patience, now, e, func(err error) error {
		if err != nil {
			return fmt.Errorf("tell that node %s %s: %w", c.Node, what, err)
		}
		return nil
	})
}
