package apiserver

import (
	"maps"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// changed marks a node's state as doubtful. Call it after the change: the reader clears the
// mark first, and then reads the inputs.
func (t *targetStore) changed(node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hostHA.doubtful[node] = true
}

// manages notes a policy as it is now; nil means that the policy was deleted.
func (t *targetStore) manages(policy string, now *api.FencePolicy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, known := t.hostHA.policies[policy]
	if known && now != nil && was.Generation == now.Generation && was.UID == now.UID && was.DeletionTimestamp.Equal(now.DeletionTimestamp) {
		return
	}
	if delete(t.hostHA.policies, policy); now != nil {
		t.hostHA.policies[policy] = *now
	}
	t.doubtAllLocked()
}

// stopped notes whether the ledger lets no fence begin.
func (t *targetStore) stopped(is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hostHA.stopped != is {
		t.hostHA.stopped = is
		t.doubtAllLocked()
	}
}

// doubtAllLocked marks the states of all nodes as doubtful.
func (t *targetStore) doubtAllLocked() {
	for node := range t.byNode {
		t.hostHA.doubtful[node] = true
	}
}

// doubts has the nodes whose states may have changed, and the inputs of those states.
type doubts struct {
	targets  map[string]targetView
	policies []api.FencePolicy
	stopped  bool
}

// doubted takes the doubtful nodes; none while the FenceTargets are not known.
func (t *targetStore) doubted() doubts {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := doubts{targets: map[string]targetView{}, stopped: t.hostHA.stopped}
	if !t.listed || len(t.hostHA.doubtful) == 0 {
		return d
	}
	for node := range t.hostHA.doubtful {
		if v := t.byNode[node]; v != nil && v.nodeUID != "" { // without a node UID, the next check writes the FenceTarget first
			d.targets[node] = *v
		}
	}
	t.hostHA.doubtful = map[string]bool{}
	d.policies = t.policiesLocked()
	return d
}

func (t *targetStore) policiesLocked() []api.FencePolicy {
	return slices.Collect(maps.Values(t.hostHA.policies))
}

// policies returns all policies as they are now.
func (t *targetStore) policies() []api.FencePolicy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.policiesLocked()
}
