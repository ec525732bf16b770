package open

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
)

// NoiseFilter tells which events are of Leases that stand still while no policy asks for early probes. The source
// sends such an event again and again, for each such node.
//
// A NoiseFilter remembers since when no policy asks for early probes. That serves to pass events by, and nothing
// else: on a slow cluster many Leases are late, and each of them is an event. The zero value has asked nobody.
type NoiseFilter struct {
	mu sync.Mutex
	at time.Time
}

// IsNoise reports whether an event is to be passed by.
func (f *NoiseFilter) IsNoise(ctx context.Context, client *kube.Client, e event.Event) (bool, error) {
	if e.Type() != events.NodeSuspect {
		return false, nil
	}
	if f.remembers(client.Clock().Now()) {
		return true, nil
	}
	asks := func(policies []api.FencePolicy) bool {
		return slices.ContainsFunc(policies, func(p api.FencePolicy) bool { return p.Spec.EarlyProbe != nil })
	}
	policies, err := look.PoliciesShowing(ctx, client.NewReader(client.Clock().Elapsed()), asks)
	if err != nil || asks(policies) {
		return false, err
	}
	f.remember(client.Clock().Now())
	return true, nil
}

// noiseFor is how late a policy that begins to ask for early probes may be heard.
const noiseFor = 15 * time.Second

// remembers tells whether it is known that no policy asks.
func (f *NoiseFilter) remembers(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	age := now.Sub(f.at)
	return age >= 0 && age < noiseFor
}

// remember notes that no policy asks.
func (f *NoiseFilter) remember(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = now
}
