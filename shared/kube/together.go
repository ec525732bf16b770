package kube

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Together makes requests of which none needs another's answer, and gives the first error in
// their order. They go at once: an API server that answers a LIST from its cache first waits
// until that is as new as the request, and then they wait for the same moment.
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
			panic(panics[i]) // where the caller's handler takes it for one bad event, as any other
		}
		if err != nil {
			return err
		}
	}
	return nil
}
