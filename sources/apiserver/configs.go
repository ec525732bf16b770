package apiserver

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/binding/version"
)

// configStore has all ConfigMaps of nodefence's namespace, as far as their version goes. A
// fence takes the devices that a check has resolved while that version stands in the ledger
// (S11: the device is the node's own).
type configStore struct {
	mu  sync.Mutex
	all map[string]*corev1.ConfigMap
	// version is theirs; empty if it is to be found anew. kept is the one that the ledger
	// has.
	version, kept string
}

func newConfigStore() *configStore {
	c := &configStore{}
	c.begin()
	return c
}

// begin resets the store before each lead.
func (c *configStore) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.version, c.kept = map[string]*corev1.ConfigMap{}, "", ""
}

// saw notes a ConfigMap as the watch shows it.
func (c *configStore) saw(cm *corev1.ConfigMap) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[cm.Name], c.version = cm, ""
}

func (c *configStore) gone(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, name)
	c.version = ""
}

func (c *configStore) now() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == "" {
		c.version = version.Of(maps.Values(c.all))
	}
	return c.version
}

// keep notes that the ledger has this version, or none.
func (c *configStore) keep(seen *api.ConfigsSeen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept = ""; seen != nil {
		c.kept = seen.Version
	}
}

// differs reports whether the ledger has another version than this one.
func (c *configStore) differs(seen *api.ConfigsSeen) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return seen == nil && c.kept != "" || seen != nil && c.kept != seen.Version
}
