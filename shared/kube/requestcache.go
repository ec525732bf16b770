package kube

import (
	"strings"
	"time"
)

// addToCache keeps an object as the API server sent it for a request that began at that time,
// unless a later one is cached.
func (c *Client) addToCache(path string, raw []byte, at time.Duration) {
	if !isCached(path) {
		return
	}
	k := &c.cache
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.all[path]; ok && old.at > at {
		return
	}
	if k.all == nil {
		k.all = map[string]cachedObject{}
	}
	for p, old := range k.all {
		if at-old.at > cacheFor {
			delete(k.all, p)
		}
	}
	k.all[path] = cachedObject{raw, at}
	k.dropOlderPolicies(path, at)
}

// dropOlderPolicies drops policies, and the list of all policies, that are older than the entry just added. A look
// after a decision would otherwise read an older policy than the decision, and miss the reason of the fence.
func (k *objectCache) dropOlderPolicies(path string, at time.Duration) {
	one, all := strings.HasPrefix(path, policiesPath+"/"), path == policiesPath
	for p, old := range k.all {
		stale := one && p == policiesPath || all && strings.HasPrefix(p, policiesPath+"/")
		if stale && old.at < at {
			delete(k.all, p)
		}
	}
}

// dropFromCache drops one object, because it has changed.
func (c *Client) dropFromCache(path string) {
	c.cache.mu.Lock()
	delete(c.cache.all, path)
	c.cache.mu.Unlock()
}
