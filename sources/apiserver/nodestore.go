package apiserver

import (
	"maps"
	"sync"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// nodeStore has what is known of the Nodes, and which nodes policies exclude. It calls the
// enrolment while it holds its lock. Lock order: nodeStore, then enrolment. The enrolment
// must hear the changes of a node in the order in which they came.
type nodeStore struct {
	enrol *enrolment

	mu    sync.Mutex
	known map[string]nodeView
	// machines are the nodes by the system UUID that they report (device.MachineKey).
	machines map[string]map[string]bool
	// excluded has the selectors by which each policy excludes nodes; excluding says that
	// the policies are known.
	excluded  map[string]*api.LabelSelector
	excluding bool
}

func newNodeStore(e *enrolment) *nodeStore {
	n := &nodeStore{enrol: e}
	n.begin()
	return n
}

// begin resets the store before each lead.
func (n *nodeStore) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known, n.excluded, n.excluding = map[string]nodeView{}, map[string]*api.LabelSelector{}, false
	n.machines = map[string]map[string]bool{}
}

func (n *nodeStore) get(name string) (nodeView, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, ok := n.known[name]
	return v, ok
}

// labels are those of a node; nil if it is not known. They are not changed.
func (n *nodeStore) labels(name string) map[string]string {
	v, _ := n.get(name)
	return v.labels
}

func (n *nodeStore) all() map[string]nodeView {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.known)
}

// counted are all nodes as a census counts them.
func (n *nodeStore) counted() []admission.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]admission.Node, 0, len(n.known))
	for name, v := range n.known {
		all = append(all, v.counted(name))
	}
	return all
}

// uids returns the UIDs of the nodes that exist, by name.
func (n *nodeStore) uids() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make(map[string]string, len(n.known))
	for name, v := range n.known {
		all[name] = v.uid
	}
	return all
}
