package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The schema's defaults, for a policy that was never at an API server.
const (
	defaultMaxConcurrent = 1
	defaultStormCoolDown = 5 * time.Minute
)

// defaultMaxUnhealthy is the schema's default, too.
var defaultMaxUnhealthy = intstr.FromString("40%")

// LimitsOf returns a policy's limits with every default filled in.
func LimitsOf(p *api.FencePolicy) api.ScopedLimits {
	l := p.Spec.Limits
	r := api.ScopedLimits{
		Policy: p.Name, Generation: p.Generation, Selector: CountedOver(p.Spec.Selector),
		MaxUnhealthy: defaultMaxUnhealthy, MaxConcurrent: defaultMaxConcurrent,
		StormCoolDown: l.StormCoolDown.Or(defaultStormCoolDown),
	}
	if l.MaxUnhealthy != nil {
		r.MaxUnhealthy = *l.MaxUnhealthy
	}
	if l.MaxConcurrent != nil {
		r.MaxConcurrent = *l.MaxConcurrent
	}
	if l.MaxRate != nil {
		r.MaxRate = &api.ResolvedRate{Count: l.MaxRate.Count, Period: l.MaxRate.Period.Or(0)}
	}
	if d := l.PerDomain; d != nil {
		r.PerDomain = &api.ResolvedDomain{TopologyKey: d.TopologyKey, MaxUnhealthy: intstr.FromString("100%"), MaxConcurrent: r.MaxConcurrent}
		if d.MaxUnhealthy != nil {
			r.PerDomain.MaxUnhealthy = *d.MaxUnhealthy
		}
		if d.MaxConcurrent != nil {
			r.PerDomain.MaxConcurrent = *d.MaxConcurrent
		}
	}
	return r
}

// CountedOver is a policy's selector as it is recorded. A selector that can't be read
// counts every node (see Selects), and is left out: the record's schema can't hold it.
func CountedOver(s *api.LabelSelector) *api.LabelSelector {
	if Unreadable("", "", s) != "" {
		return nil
	}
	return s
}
