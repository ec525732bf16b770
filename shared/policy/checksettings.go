package policy

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The checks that a policy asks for before anything is touched, with the schema's defaults
// filled in: an object may not have passed the API server, for example a file that
// kubectl fence plan reads.

// or returns the value if it is set, and else the default.
func or[T any](set *T, unset T) T {
	if set == nil {
		return unset
	}
	return *set
}

// ActivitySettings resolves a policy's activityChecks; nil if it has none.
func ActivitySettings(p *api.ActivityChecks) *api.ActivitySettings {
	if p == nil {
		return nil
	}
	s := &api.ActivitySettings{
		Rounds: or(p.Rounds, 10), FailedRounds: or(p.FailedRounds, 8), Interval: p.Interval.Or(time.Minute), CheckTimeout: p.CheckTimeout.Or(time.Minute),
		RecheckInterval: p.RecheckInterval.Or(5 * time.Minute), AliveTimeout: p.AliveTimeout.Or(time.Hour), OnAliveTimeout: p.OnAliveTimeout,
	}
	if s.OnAliveTimeout == "" {
		s.OnAliveTimeout = api.AliveRequireApproval
	}
	for _, c := range p.Checks {
		check := api.CheckSettings{Type: c.Type, Job: c.Job}
		if c.Type == api.CheckNeighbors {
			n := or(c.Neighbors, api.NeighborsCheck{})
			check.Neighbors = &api.NeighborsSettings{Count: or(n.Count, 3), TopologyKey: or(n.TopologyKey, "topology.kubernetes.io/zone")}
		}
		s.Checks = append(s.Checks, check)
	}
	return s
}

// StorageSettings resolves a policy's storageCheck; nil if it has none.
func StorageSettings(p *api.StorageCheck) *api.StorageSettings {
	if p == nil {
		return nil
	}
	return &api.StorageSettings{Type: p.Type, TCP: p.TCP, Job: p.Job, Timeout: p.Timeout.Or(time.Minute), ValidDuration: p.ValidDuration.Or(30 * time.Second)}
}

// KdumpSettings resolves a policy's kdump; nil if it has none.
func KdumpSettings(p *api.KdumpRule) *api.KdumpSettings {
	if p == nil {
		return nil
	}
	return &api.KdumpSettings{
		FirstMessageTimeout: p.FirstMessageTimeout.Or(time.Minute), QuietDuration: p.QuietDuration.Or(30 * time.Second),
		Timeout: p.Timeout.Or(15 * time.Minute), ReleasePodsWhileDumping: or(p.ReleasePodsWhileDumping, false),
	}
}
