package kube

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Together sends requests that do not need each other's answers, and returns the first error in
// their order. It sends them at once: an API server that answers a LIST from its cache first
// waits until the cache is as new as the request, and so all of them wait for that at the same
// time.
func (c *Client) Together(requests ...func() error) error {
	errs := make([]error, len(requests))
	if c.inTurn {
		for _, request := range requests {
			if err := request(); err != nil {
				return err
			}
		}
		return nil
	}
	panics := make([]any, len(requests))
	var under sync.WaitGroup
	for i, request := range requests {
		under.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					panics[i] = fmt.Sprintf("%v\n%s", v, debug.Stack())
				}
			}()
			errs[i] = request()
		})
	}
	under.Wait()
	for i, err := range errs {
		if panics[i] != nil {
			panic(panics[i]) // so that the caller's handler treats it as one bad event
		}
		if err != nil {
			return err
		}
	}
	return nil
}
