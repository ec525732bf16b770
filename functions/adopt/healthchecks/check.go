package healthchecks

import (
	"context"

	"github.com/nodefence/nodefence/shared/adopt/mhc"
)

// check does what follows from one MachineHealthCheck.
func (r *round) check(ctx context.Context, k *kind, raw []byte) {
	c, err := mhc.Read(k.APIVersion, raw)
	if c == nil {
		r.failed = append(r.failed, err)
		k.unread = true // nobody knows which one it is
		return
	}
	if c.DeletionTimestamp != nil {
		return
	}
	why := c.Whose(k.Leader, k.alive, r.now)
	switch {
	case !c.Counts(r.Namespaces):
		r.tell(ctx, c, eventNamespace, "nodefence does nothing about it: its namespace is not in NODEFENCE_ADOPT_NAMESPACES", false)
		r.hold(ctx, c)
	case why != "":
		r.tell(ctx, c, eventPassive, "nodefence does nothing about it: "+why, false)
		r.hold(ctx, c)
	case err != nil:
		r.refuse(ctx, c, err)
	default:
		r.answer(ctx, c, k)
	}
}

// answer answers one that is understood.
func (r *round) answer(ctx context.Context, c *mhc.Check, k *kind) {
	targets := c.Targets(k.machines, r.nodes)
	marked := mhc.Marked(targets)
	n := c.Count(targets)
	byCluster := mhc.HeldByCluster(targets)
	paused := c.Paused() || byCluster != ""
	object, is := r.policies[c.PolicyName()]
	switch {
	case !is && mhc.Elsewhere(targets) && c.Group() == mhc.ClusterAPI:
		r.tell(ctx, c, eventElsewhere, "nodefence does nothing about it: none of the nodes of its Machines is in this cluster; run nodefence in the cluster of the nodes, with NODEFENCE_MACHINES_KUBECONFIG", true)
		return
	case !is && len(marked) == 0 && c.Group() == mhc.ClusterAPI:
		// Nobody knows yet in which cluster its nodes will be.
	default:
		if err := r.keep(ctx, c, object, n, paused || !n.Allowed()); err != nil {
			r.refuse(ctx, c, err)
			return
		}
		for _, node := range marked {
			if r.marks[node] == nil {
				r.marks[node] = map[string]bool{}
			}
			r.marks[node][c.Label()] = true
		}
	}
	if byCluster != "" {
		r.tell(ctx, c, eventPaused, "nothing is fenced for it: of a Machine, "+byCluster, false)
	}
	if paused {
		return // as its own controller, which leaves the status as it is
	}
	if r.save(ctx, c, c.NewStatus(n, r.now)) && !n.Allowed() {
		r.tell(ctx, c, eventRestricted, c.TooMany(n), true)
	}
}

// refuse says in its status, and by an Event, why nothing follows from it.
func (r *round) refuse(ctx context.Context, c *mhc.Check, why error) {
	r.hold(ctx, c)
	r.tell(ctx, c, eventRefused, "nothing is fenced for it: "+why.Error(), true)
	if !c.Paused() {
		r.save(ctx, c, c.RefusedStatus(why, r.now))
	}
}

// save writes its status, if that has changed, and tells whether it did.
func (r *round) save(ctx context.Context, c *mhc.Check, fields map[string]any) bool {
	if fields == nil {
		return false
	}
	err := r.Objects.SaveHealthCheckStatus(ctx, c.APIVersion, c.ObjectMeta, fields)
	if err := unlessLost(err); err != nil {
		r.fail("write the status of "+c.String(), err)
	}
	return err == nil
}
