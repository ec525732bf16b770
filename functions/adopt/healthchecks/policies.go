package healthchecks

import (
	"context"
	"errors"
	"strings"

	"github.com/nodefence/nodefence/shared/adopt/mhc"
	"github.com/nodefence/nodefence/shared/kube"
)

// keep brings its FencePolicy up to date; held, it is paused. The error says that another one has its name.
func (r *round) keep(ctx context.Context, c *mhc.Check, object map[string]any, n mhc.Count, held bool) error {
	name := c.PolicyName()
	r.kept[name] = true
	wants, changed := c.Policy(object, n, held, r.now)
	if !changed {
		return nil
	}
	if object != nil {
		if err := unlessLost(r.Objects.SavePolicy(ctx, name, wants)); err != nil {
			r.fail("write FencePolicy "+name, err)
		}
		return nil
	}
	err := r.Objects.CreatePolicy(ctx, wants)
	switch {
	case errors.Is(err, kube.ErrConflict):
		if now, err := r.Objects.PoliciesLabelled(ctx, mhc.AdoptedLabel, mhc.AdoptedValue); err != nil || now[name] != nil {
			if err != nil {
				r.fail("look at FencePolicy "+name, err)
			}
			return nil // another process was faster; the next tick compares it
		}
		delete(r.kept, name)
		return &mhc.Refused{Field: "metadata.name", Why: "there is a FencePolicy " + name + " without the label " + mhc.AdoptedLabel + "=" + mhc.AdoptedValue + ": delete it, or rename this object"}
	case err != nil:
		r.fail("create FencePolicy "+name, err)
		return nil
	}
	r.Log.Info("created a FencePolicy from a MachineHealthCheck", "function", r.Function, "policy", name, "from", c.From())
	r.tell(ctx, c, eventAdopted, "nodefence answers it by FencePolicy "+name, false)
	return nil
}

// hold has no fence begin under its policy, if there is one. The policy stays: what people wrote into it
// counts again once the object is answered. The labels go after it, so that it binds no node.
func (r *round) hold(ctx context.Context, c *mhc.Check) {
	name := c.PolicyName()
	object, is := r.policies[name]
	if !is {
		return
	}
	r.kept[name] = true
	wants, changed := c.Held(object)
	if !changed {
		return
	}
	if err := r.Objects.SavePolicy(ctx, name, wants); err != nil {
		r.stuck[name] = true
		if unlessLost(err) != nil {
			r.fail("hold FencePolicy "+name, err)
		}
	}
}

// deletePolicies deletes the policies of MachineHealthChecks that are gone. One that can't be deleted is
// held, and so is one whose object may be among those that can't be read.
func (r *round) deletePolicies(ctx context.Context) {
	for name, o := range r.policies {
		k := r.kindOf(o)
		if r.kept[name] || k == nil {
			continue
		}
		m := metaOf(o)
		c, made := mhc.Made(name, m.Annotations[mhc.FromAnnotation])
		if !made {
			continue // a person's copy
		}
		if k.unread {
			r.hold(ctx, c)
			continue
		}
		if err := r.Objects.DeletePolicy(ctx, name, m.UID, m.ResourceVersion); err != nil {
			if unlessLost(err) != nil {
				r.fail("delete FencePolicy "+name, err)
				r.hold(ctx, c)
			}
			r.stuck[name] = true
			continue
		}
		r.Log.Info("deleted a FencePolicy whose MachineHealthCheck is gone", "function", r.Function, "policy", name, "from", c.From())
	}
}

// kindOf is the kind of object that a policy was made from; nil if that was not read. If the kind is not
// installed any more, its policies stay, for a person to delete: an API server that is starting may
// not serve it yet.
func (r *round) kindOf(o map[string]any) *kind {
	group, _, _ := strings.Cut(metaOf(o).Annotations[mhc.FromAnnotation], "/")
	for i := range r.kinds {
		if k := &r.kinds[i]; k.Group == group && k.APIVersion != "" && k.Err == nil {
			return k
		}
	}
	return nil
}
