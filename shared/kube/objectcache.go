package kube

import (
	"strings"
	"sync"
	"time"
)

// cachedObject is one object as the API server sent it, with the time at which the request began.
type cachedObject struct {
	raw []byte
	at  time.Duration
}

// objectCache has the objects that this process has seen or written in the last second.
type objectCache struct {
	mu  sync.Mutex
	all map[string]cachedObject
}

// cacheFor is how long an object that was seen need not be read again. Time always passes between
// a look and the action on it; this is no more than the requests of one round may take anyway.
const cacheFor = time.Second

// isCached tells whether a path is one of the objects that are looked at again and again. Nothing
// else is cached, least of all a Secret (S29).
func isCached(path string) bool {
	if path == policiesPath {
		return true
	}
	for _, of := range []string{nodesPath, leasesPath, ledgersPath, policiesPath} {
		if strings.HasPrefix(path, of+"/") {
			return true
		}
	}
	return false
}
