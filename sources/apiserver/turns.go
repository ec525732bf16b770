package apiserver

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
	"github.com/nodefence/nodefence/sources/apiserver/pace"
)

// turns hands out the turns that begin before the next write of the picture.
func (t *targetStore) turns(now time.Time, here map[string]string, free []freeNode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.listed {
		return
	}
	t.pace.Forget(func(node string) bool { _, ok := here[node]; return ok })
	t.pace.Give(now, leases.Heartbeat, t.candidatesLocked(free))
}

// toStand returns the turns that the ledger should hold, given the ledger as it was read.
// If this program does not understand that ledger, toStand adds no turn: a write would lose
// what a newer program says about its own turns.
func (t *targetStore) toStand(l *api.FenceLedger, now time.Time) []api.NodeTurn {
	if l.NotUnderstood.Any() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pace.Ledger(now, l.Status.Checks)
}

// written notes that the ledger holds these turns.
func (t *targetStore) written(turns []api.NodeTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pace.Written(turns)
}

// begun returns the turns that begin now.
func (t *targetStore) begun(now time.Time) []pace.Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pace.Due(now)
}

// freeNode is a node that may be checked now.
type freeNode struct{ name, uid string }

// freeOf returns the existing nodes whose devices may be checked. A node with a fence is
// left to its fence. So is a node whose Lease stands still, because a fence of it may begin
// at any moment.
func freeOf(here map[string]string, open map[string]*api.NodeFence, p api.LeasePicture) (all []freeNode) {
	if p.Cut() {
		return nil // any node's Lease may stand still
	}
	left := map[string]bool{}
	for _, l := range p.Still {
		left[l.NodeName] = true
	}
	for name, uid := range here {
		if !left[name] && open[name] == nil {
			all = append(all, freeNode{name, uid})
		}
	}
	return all
}

// candidatesLocked returns these nodes with what is known of their devices.
func (t *targetStore) candidatesLocked(free []freeNode) (all []pace.Candidate) {
	for _, n := range free {
		c := pace.Candidate{Node: n.name, UID: n.uid, Devices: 1}
		if v := t.byNode[n.name]; v != nil && v.nodeUID == n.uid {
			c.Devices, c.Oldest, c.Latest, c.Asked = max(1, v.devices), v.oldest, v.latest, v.asked
			c.Stale = v.configs != t.configs && (v.configs != "" || t.configsChanged) && v.latest.Before(t.configsSince.Add(pace.ClocksDiffer))
		}
		all = append(all, c)
	}
	return all
}

// configured notes the version of the ConfigMaps. Each node whose devices were kept by
// another one, and that was not looked at since, is urgent once. So is a node of which none are
// kept, once the version changes: another node's ConfigMap may have named the same device.
func (t *targetStore) configured(seen *api.ConfigsSeen, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seen != nil && seen.Version != t.configs {
		t.configs, t.configsSince, t.configsChanged = seen.Version, now, t.configs != ""
	}
}

// hurries reports whether the picture is written early: no node had a turn yet, or a person
// waits for a check that may be given a turn.
func (t *targetStore) hurries(now time.Time, age time.Duration, free []freeNode) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.listed || !t.pace.Begun() {
		return t.listed
	}
	return age >= hurry && slices.ContainsFunc(t.candidatesLocked(free), func(c pace.Candidate) bool {
		return c.Asked && t.pace.Urgent(c, now)
	})
}

// hurry is the least age of the ledger's picture before it is written early for a person
// who waits for a check.
const hurry = time.Second
