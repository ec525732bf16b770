package healthchecks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/adopt/mhc"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
)

// leasesSeen is the ConfigMap in which it is kept what was last seen of the Leases of others.
const leasesSeen = "nodefence-adopt-leases"

// Keep brings everything up to date. If something can't be read, nothing is changed that follows from
// it: what was not seen is not gone. Policies that are not kept up to date hold by their age.
func (h *Keeper) Keep(ctx context.Context) error {
	r, err := h.read(ctx)
	if err != nil {
		return fmt.Errorf("look at the MachineHealthChecks: %w; what follows from them stays as it is until the next tick", err)
	}
	if r == nil {
		return nil
	}
	for i := range r.kinds {
		for _, raw := range r.kinds[i].Items {
			r.check(ctx, &r.kinds[i], raw)
		}
	}
	r.deletePolicies(ctx)
	r.label(ctx)
	return errors.Join(r.failed...)
}

// read reads everything, each kind by itself; nil if no kind is served.
func (h *Keeper) read(ctx context.Context) (*round, error) {
	r := &round{Keeper: h, kept: map[string]bool{}, stuck: map[string]bool{}, marks: map[string]map[string]bool{}, now: h.Now()}
	kinds := h.Objects.MachineHealthChecks(ctx)
	if !h.note(kinds) {
		return nil, nil
	}
	var err error
	if r.nodes, err = h.Objects.Nodes(ctx); err != nil {
		return nil, err
	}
	if r.policies, err = h.Objects.PoliciesLabelled(ctx, mhc.AdoptedLabel, mhc.AdoptedValue); err != nil {
		return nil, err
	}
	for i, l := range mhc.Leaders {
		k := kind{HealthChecks: kinds[i], Leader: l}
		if k.APIVersion != "" && k.Err == nil {
			k.machines, k.alive, k.Err = h.beside(ctx, l, r.now)
		}
		if k.Err != nil {
			k.Items = nil
			r.fail("look at the MachineHealthChecks of "+l.Group, k.Err)
		}
		r.kinds = append(r.kinds, k)
	}
	return r, nil
}

// beside reads what counts beside the objects of a kind: the Machines, and whether its own controller
// may be alive.
func (h *Keeper) beside(ctx context.Context, l mhc.Leader, now time.Time) (machines []policy.Machine, alive bool, err error) {
	if machines, err = h.Objects.MachinesIn(ctx, l.Group); err == nil && l.Name != "" {
		alive, err = h.alive(ctx, l, now)
	}
	return machines, alive, err
}

// note logs once for each kind that it is not served, and tells whether any is.
func (h *Keeper) note(kinds []kube.HealthChecks) (any bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unserved == nil {
		h.unserved = map[string]bool{}
	}
	for i, k := range kinds {
		group := mhc.Leaders[i].Group
		missing := k.APIVersion == "" && k.Err == nil
		if missing && !h.unserved[group] {
			h.Log.Info("no MachineHealthCheck is answered of a group that is not installed; each tick looks again", "function", h.Function, "group", group)
		}
		h.unserved[group] = missing
		any = any || !missing
	}
	return any
}

// Detail says, for /readyz, which groups are not installed; empty if both are.
func (h *Keeper) Detail() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, l := range mhc.Leaders {
		if h.unserved[l.Group] {
			all = append(all, l.Group)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "adopt mhc: no MachineHealthChecks are installed of " + strings.Join(all, ", ")
}

// alive tells whether a controller may be alive, and keeps what was seen of its Lease.
func (h *Keeper) alive(ctx context.Context, l mhc.Leader, now time.Time) (bool, error) {
	kept, err := h.Objects.ConfigMap(ctx, h.Namespace, leasesSeen)
	if err != nil {
		return true, err
	}
	if kept == nil {
		return true, fmt.Errorf("there is no ConfigMap %s/%s, in which it is kept what was seen of Lease %s: create it, without data", h.Namespace, leasesSeen, l)
	}
	lease, err := h.Objects.LeaseIn(ctx, l.Namespace, l.Name)
	if err != nil {
		return true, err
	}
	alive, keep := mhc.Moves(kept.Data[l.Key()], lease, now)
	if keep == kept.Data[l.Key()] {
		return alive, nil
	}
	if kept.Data == nil {
		kept.Data = map[string]string{}
	}
	kept.Data[l.Key()] = keep
	return alive, unlessLost(h.Objects.SaveConfigMap(ctx, kept)) // what another process has seen counts as well
}

// label sets and takes off the labels of Nodes. It takes off those alone that no policy needs.
func (r *round) label(ctx context.Context) {
	for i := range r.nodes {
		n := &r.nodes[i]
		change := map[string]any{}
		for key := range r.marks[n.Name] {
			if n.Labels[key] != mhc.LabelValue {
				change[key] = mhc.LabelValue
			}
		}
		for key := range n.Labels {
			name, is := strings.CutPrefix(key, mhc.LabelPrefix)
			if o, stays := r.policies[name]; is && !r.marks[n.Name][key] && (!stays || r.kindOf(o) != nil) && !r.stuck[name] {
				change[key] = nil
			}
		}
		if len(change) == 0 {
			continue
		}
		if err := unlessLost(r.Objects.LabelNode(ctx, n, change)); err != nil {
			r.fail("label Node "+n.Name, err)
		}
	}
}
