package apiserver

// saw notes a node as it is now, and returns how it was; nil if it was not known.
func (n *nodeStore) saw(name string, v nodeView) (old *nodeView) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if was, ok := n.known[name]; ok {
		old = &was
	}
	n.known[name] = v
	n.moveLocked(name, reported(old), v.systemUUID)
	if v.ready() {
		n.enrol.put(name, v)
	}
	n.excludeLocked(name, v)
	return old
}

func (n *nodeStore) gone(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moveLocked(name, n.known[name].systemUUID, "")
	delete(n.known, name)
	n.enrol.left(name)
}

// reported is the system UUID that the node reported when it was last seen.
func reported(old *nodeView) string {
	if old == nil {
		return ""
	}
	return old.systemUUID
}

// enrolAgain enrols a node whose enrolment somebody deleted.
func (n *nodeStore) enrolAgain(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if v, ok := n.known[name]; ok && v.ready() {
		n.enrol.put(name, v)
		n.excludeLocked(name, v)
	}
}
