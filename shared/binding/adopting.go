package binding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/config"
)

// where says of an error of a ConfigMap that stands for an object in which object and field it is.
func (r *resolution) where(err error) error {
	var e *config.Error
	if !errors.As(err, &e) || r.stands[e.ConfigMap] == nil {
		return err
	}
	a := r.stands[e.ConfigMap]
	at := a.words()
	if e.Line > 0 && e.Line <= len(a.fields) && strings.HasPrefix(e.Key, "fence-method-") {
		at += ", " + a.fields[e.Line-1]
	} else if e.Key != "" {
		at += ", spec"
	}
	return fmt.Errorf("%s: %s", at, e.Msg)
}

// specific refuses a device whose machine the object does not choose for this node alone: what it
// gives all nodes is another's machine for all but one of them (S11).
func (b Resolver) specific(r *resolution) error {
	a := r.adopted
	if a == nil {
		return nil
	}
	kind, err := b.kind(&r.plan.Binding, nil)
	if err != nil {
		return err
	}
	s := b.settings()
	var chooses []string
	for _, p := range kind.Params {
		if !p.Machine {
			continue
		}
		chooses = append(chooses, flagOf(p.Name))
		for name, given := range a.device.Params {
			if given.OfNode && s.Canonical(name) == s.Canonical(p.Name) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s, spec: nothing in it chooses the machine of node %s alone: give %s in nodeparameters, or with {{.NodeName}} in sharedparameters", a.words(), a.NodeName, strings.Join(chooses, " or "))
}

// adopt adds the ConfigMaps that stand for the objects of others. A fault in this node's own is a
// config.Refused; a fault in another node's is that node's.
func (b Resolver) adopt(ctx context.Context, r *resolution, s config.Settings) error {
	if len(b.Adopts) == 0 {
		return nil
	}
	gives, claims, err := b.adoptable(ctx)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	r.stands = map[string]*adopted{}
	r.maps = slices.Clone(r.from.maps)
	for _, m := range r.maps {
		taken[m.Name] = true
	}
	node := r.node.Name
	if mine := gives[node]; len(mine) > 0 {
		if r.adopted, err = one(mine, taken); err != nil {
			return &config.Refused{Err: err}
		}
		r.maps, r.stands[r.adopted.cm.Name] = append(r.maps, r.adopted.cm), r.adopted
	}
	for _, other := range slices.Sorted(maps.Keys(claims)) {
		all := claims[other]
		for i, a := range all {
			if other == node || a.failed != nil || slices.ContainsFunc(all[:i], a.same) {
				continue
			}
			// What another node has twice is refused when that node is looked at. Here each counts.
			if name := a.cm.Name; !taken[name] {
				taken[name], r.stands[name] = true, a
				r.maps = append(r.maps, a.cm)
			} else {
				r.further = append(r.further, a)
			}
		}
	}
	r.configs = config.Of(r.maps, r.from.nodes, s)
	return nil
}

// duplicates refuses a device that another node has too, by whatever is said of that node.
func (r *resolution) duplicates(s config.Settings) error {
	err := r.configs.Duplicates(r.node, r.plan.Devices()...)
	for i := 0; err == nil && i < len(r.further); i++ {
		a := r.further[i]
		rest := slices.DeleteFunc(slices.Clone(r.maps), func(m config.ConfigMap) bool { return slices.Contains(ownNames(a.NodeName), m.Name) })
		r.stands[a.cm.Name] = a
		err = config.Of(append(rest, a.cm), r.from.nodes, s).Duplicates(r.node, r.plan.Devices()...)
	}
	return err
}
