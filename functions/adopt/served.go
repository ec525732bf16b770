package adopt

import (
	"context"
	"fmt"

	"github.com/nodefence/nodefence/shared/adopt/far"
)

// list reads the objects of all namespaces that count, also where those of one can't be read.
func (a *Adopter) list(ctx context.Context) (all []far.Object, served bool, failed []error) {
	for _, namespace := range a.Namespaces {
		some, is, err := a.Objects.FARs(ctx, namespace)
		if err != nil {
			failed = append(failed, fmt.Errorf("look for FenceAgentsRemediations in namespace %s: %w", namespace, err))
			continue
		}
		all, served = append(all, some...), served || is
	}
	return all, served, failed
}

// note says once that the kind is not there, and once that it is.
func (a *Adopter) note(served bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !served && !(a.looked && a.missing):
		a.Log.Warn("the CRD of FenceAgentsRemediation is not installed: none is adopted until it is (NODEFENCE_ADOPT)", "function", Name)
	case served && a.missing:
		a.Log.Info("the CRD of FenceAgentsRemediation is installed now", "function", Name)
	}
	a.looked, a.missing = true, !served
}

// Detail says for /readyz what is not adopted; empty if all is.
func (a *Adopter) Detail() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.missing {
		return "the CRD of FenceAgentsRemediation is not installed: none is adopted"
	}
	return ""
}

// itself names the Lease by which Fence Agents Remediation is seen to run. unsure: nobody knows yet.
func (a *Adopter) itself(ctx context.Context) (live string, unsure bool, err error) {
	leases, err := a.Objects.LeasesNamed(ctx, far.LeaderLease)
	if err != nil {
		return "", false, fmt.Errorf("look whether Fence Agents Remediation runs: %w", err)
	}
	live, unsure = a.leader.live(leases, a.Elapsed())
	return live, unsure, nil
}
