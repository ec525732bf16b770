package binding

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/binding/version"
	"github.com/nodefence/nodefence/shared/config"
)

// snapshot sorts the ConfigMaps.
func (b Resolver) snapshot(all []corev1.ConfigMap) *snapshot {
	for i := range all {
		all[i].ManagedFields = nil // who wrote what is not asked for
	}
	s := &snapshot{all: all, resolver: b.name(), enrolled: map[string]enrolled{}, machines: map[string][]string{}}
	s.version = sync.OnceValue(func() string { return version.Of(pointers(all)) })
	for i := range all {
		switch e, ok := enrolment(&all[i]); {
		case !ok:
			s.maps = append(s.maps, config.ConfigMap{Namespace: all[i].Namespace, Name: all[i].Name, ResourceVersion: all[i].ResourceVersion, Data: all[i].Data})
		case e.Name != "":
			s.enrolled[e.Name], s.nodes = e, append(s.nodes, e.Node)
			for _, key := range e.machines() {
				s.machines[key] = append(s.machines[key], e.Name)
			}
		}
	}
	s.configs = config.Of(s.maps, s.nodes, b.settings())
	return s
}

// listed are all ConfigMaps as they are now.
func (b Resolver) listed(ctx context.Context) (*snapshot, error) {
	all, err := b.Client.ConfigMaps(ctx, b.Namespace)
	if err != nil {
		return nil, err
	}
	return b.snapshot(all), nil
}

func pointers(all []corev1.ConfigMap) func(func(*corev1.ConfigMap) bool) {
	return func(yield func(*corev1.ConfigMap) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// list are all ConfigMaps: those that this process has, if they count, and else they are listed.
func (b Resolver) list(ctx context.Context, now present) (from *snapshot, listed bool, err error) {
	if b.Lists == nil {
		from, err = b.listed(ctx)
		return from, true, err
	}
	if from = b.Lists.at(now); from != nil {
		return from, false, nil
	}
	before := b.Lists.count(false)
	end, err := b.Lists.begin(ctx)
	if err != nil {
		return nil, false, err
	}
	defer end()
	if from = b.Lists.at(now); from != nil {
		return from, false, nil
	}
	if from = b.Lists.after(before); from != nil {
		return from, true, nil // somebody has listed them while this one waited
	}
	number := b.Lists.count(true)
	if from, err = b.listed(ctx); err == nil {
		b.Lists.keep(from, number, now.at)
	}
	return from, true, err
}
