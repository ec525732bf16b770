package binding

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/binding/version"
	"github.com/nodefence/nodefence/shared/config"
)

// snapshot is one list of all ConfigMaps, with what follows from it for every node alike. Many resolutions
// may use it at once; none of them changes it.
type snapshot struct {
	all []corev1.ConfigMap
	// resolver is the name of the program and its settings that read it.
	resolver string
	version  func() string
	// enrolled are the enrolments by node, and maps are the ConfigMaps that are none.
	enrolled map[string]enrolled
	// machines are the enrolled nodes by device.MachineKey.
	machines map[string][]string
	maps     []config.ConfigMap
	nodes    []config.Node
	configs  *config.Configs
}

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

// node is what the ConfigMaps are read for. An enrolment of another Node of that name is not its own.
func (s *snapshot) node(n *corev1.Node) config.Node {
	is := config.Node{Name: n.Name}
	if e := s.enrolled[n.Name]; e.Name != "" && (e.uid == n.UID || n.UID == "" && e.worker) {
		is = e.Node
	}
	is.Type = n.Labels[typeLabel]
	return is
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
