package judge

import (
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // a machine without zone files judges pause windows too

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The promises about brakes.
const (
	stopsOffs   = "S25: a pause, an abort or a storm stops further Offs"
	reasonHolds = "S17: a stricter policy sends the fence back to the gate"
)

// excludedLabel keeps a node from being fenced under every policy.
const excludedLabel = "remediation.medik8s.io/exclude-from-remediation"

// judgeBrakes looks for brakes that should have stopped the Off of a claim: a brake counts if it stood for
// lookTakes before the claim was saved.
func (t *timeline) judgeBrakes(node string, k *claimed) {
	f := k.from.object
	against := func(promise, what string, w *Write) {
		t.addBreach(promise, node, f.Status.FenceNumber, "an Off is claimed although "+what, w.cite(what), k.cite())
	}
	since := k.from.Received.Add(-lookTakes)
	if l := t.ledger.stoodSince(since, k.from.Write); l != nil && l.object != nil {
		if l.object.Spec.Stop {
			against(stopsOffs, "spec.stop of the FenceLedger is set", l.Write)
		}
		for _, s := range l.object.Status.Storms {
			if s.TopologyKey == "" && s.CoolDownUntil == nil && s.Since.Before(&api.Time{Time: since}) && slices.ContainsFunc(f.Status.Decision.Limits, func(lim api.ScopedLimits) bool { return lim.Policy == s.Policy }) {
				against(stopsOffs, "there is a storm under policy "+s.Policy, l.Write)
			}
		}
	}
	if a := f.Spec.Requests.Abort; a != nil && isAboutFence(a, f) {
		against(stopsOffs, "spec.requests.abort is set", k.from.Write)
	}
	if n := t.nodes[node].stoodSince(since, k.from.Write); n != nil && n.object != nil && n.object.Labels[excludedLabel] == "true" && f.Status.Power.OffCalls <= 1 {
		against(reasonHolds, "the node has the label "+excludedLabel, n.Write)
	}
	t.judgePolicies(node, k, since, against)
}

// isAboutFence reports whether an abort is about the open fence. An abort without a number is about the fence
// open at its time.
func isAboutFence(a *api.AbortRequest, f *api.NodeFence) bool {
	if a.FenceNumber != nil {
		return *a.FenceNumber == f.Status.FenceNumber
	}
	return f.Status.OpenedAt != nil && !a.At.Time.Before(f.Status.OpenedAt.Truncate(time.Second))
}

// judgePolicies looks for a pause or a window in each policy that limits a fence, and for a stricter mode in the deciding
// policy. A limit that a person has lifted for this fence (skipFrom) brakes no more.
func (t *timeline) judgePolicies(node string, k *claimed, since time.Time, against func(promise, what string, w *Write)) {
	f := k.from.object
	for _, lim := range f.Status.Decision.Limits {
		p := t.policies[lim.Policy].stoodSince(since, k.from.Write)
		switch {
		case p == nil:
			continue
		case p.object == nil:
			if lim.Policy == f.Status.Decision.Policy.Name {
				against(reasonHolds, "policy "+lim.Policy+" is deleted", p.Write)
			}
			continue
		}
		if lim.SkipFrom > 0 {
			continue
		}
		if len(p.object.Spec.PauseRequests) > 0 {
			against(stopsOffs, fmt.Sprintf("policy %s is paused by %v", lim.Policy, p.object.Spec.PauseRequests), p.Write)
		}
		for _, w := range p.object.Spec.PauseWindows {
			if open, err := insideWindow(w, since); err != nil {
				t.leaveOut("a pause window of policy %s: %v", lim.Policy, err)
			} else if now, _ := insideWindow(w, k.from.Received.Add(clockSlack)); open && now {
				against(stopsOffs, "a pause window of policy "+lim.Policy+" is open", p.Write)
			}
		}
		if lim.Policy != f.Status.Decision.Policy.Name {
			continue
		}
		approve := f.Spec.Requests.Approve
		switch approved := approve != nil && approve.FenceNumber == f.Status.FenceNumber; {
		case p.object.Spec.Mode == api.ModeDryRun:
			against(reasonHolds, "policy "+lim.Policy+" has mode DryRun", p.Write)
		case p.object.Spec.Mode == api.ModeRequireApproval && !approved:
			against(reasonHolds, "policy "+lim.Policy+" has mode RequireApproval, and nobody has approved", p.Write)
		}
	}
}

// insideWindow reports whether a pause window is open at a time.
func insideWindow(w api.PauseWindowRule, at time.Time) (bool, error) {
	zone := time.UTC
	if w.TimeZone != nil {
		var err error
		if zone, err = time.LoadLocation(*w.TimeZone); err != nil {
			return false, err
		}
	}
	clock, err := time.Parse("15:04", w.Start)
	if err != nil {
		return false, err
	}
	length, err := time.ParseDuration(string(w.Duration))
	if err != nil {
		return false, err
	}
	for back := range 8 {
		day := at.In(zone).AddDate(0, 0, -back)
		start := time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), 0, 0, zone)
		if len(w.Days) > 0 && !slices.Contains(w.Days, api.Weekday(start.Weekday().String())) {
			continue
		}
		if (interval{start, start.Add(length)}).has(at) {
			return true, nil
		}
	}
	return false, nil
}
