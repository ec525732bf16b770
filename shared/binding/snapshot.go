package binding

import (
	corev1 "k8s.io/api/core/v1"

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

// node is what the ConfigMaps are read for. An enrolment of another Node of that name is not its own.
func (s *snapshot) node(n *corev1.Node) config.Node {
	is := config.Node{Name: n.Name}
	if e := s.enrolled[n.Name]; e.Name != "" && (e.uid == n.UID || n.UID == "" && e.worker) {
		is = e.Node
	}
	is.Type = n.Labels[typeLabel]
	return is
}

// typeLabel is the one label of a Node that chooses its configuration.
const typeLabel = "type"
