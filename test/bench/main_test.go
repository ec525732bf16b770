package main

import (
	"testing"
	"time"

	"github.com/nodefence/nodefence/infra/local"
)

// TestTheBrokerSyncs: what is measured is what users run, whatever else a part changes.
func TestTheBrokerSyncs(t *testing.T) {
	for name, change := range map[string]func(*local.Options){
		"nothing":       nil,
		"another field": func(o *local.Options) { o.CheckEvery = time.Hour },
		"that one":      func(o *local.Options) { o.NoSync = true },
	} {
		o := local.Options{NoSync: true}
		runAsUsersDo(change)(&o)
		if o.NoSync {
			t.Errorf("a part that changes %s measures a broker that does not sync", name)
		}
	}
}
