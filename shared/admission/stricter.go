package admission

import (
	"cmp"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// stricter says in which way what the policies make of a node now allows less than what
// a fence was admitted under; empty if in none. What holds the node whatever the fence was admitted under stands
// in the table of package hold. How many may be fenced, and when, is
// counted and not compared (see Recount and closed).
func stricter(was, is api.ResolvedPolicy) (api.Reason, string) {
	modes, by := []api.Mode{api.ModeEnforce, api.ModeRequireApproval, api.ModeDryRun}, facts.DecidingPolicy(is)
	switch {
	case is.Policy.Name != was.Policy.Name:
		return api.PolicyChanged, by + " decides for this node now; it was admitted under " + facts.DecidingPolicy(was)
	case slices.Index(modes, is.Settings.Mode) > slices.Index(modes, was.Settings.Mode):
		return cmp.Or(map[api.Mode]api.Reason{api.ModeDryRun: api.DryRun, api.ModeRequireApproval: api.WaitingForApproval}[is.Settings.Mode], api.PolicyChanged),
			by + " is in mode " + string(is.Settings.Mode) + " now"
	case reach(is.Settings.Action) < reach(was.Settings.Action):
		return api.PolicyChanged, by + " has action " + string(is.Settings.Action) + " now"
	case is.Spares(true) && !was.Spares(true):
		return api.ControlPlaneNode, by + " never fences control-plane nodes now (controlPlane.fence: Never)"
	}
	if what := asksMore(was, is); what != "" {
		return api.PolicyChanged, by + " asks for more now: " + what
	}
	return "", ""
}

// reach is how far an action goes.
func reach(a api.FenceAction) int {
	switch a {
	case api.ActionWaitForOff:
		return 0
	case api.ActionIsolate:
		return 1
	}
	return 2
}

// asksMore is what must be seen or waited for now and had not to be before.
func asksMore(was, is api.ResolvedPolicy) string {
	if is.Settings.ActivityChecks != nil && was.Settings.ActivityChecks == nil {
		return "activityChecks"
	}
	if is.Settings.StorageCheck != nil && was.Settings.StorageCheck == nil {
		return "storageCheck"
	}
	if what := waitsMore(was.Settings.Drain, is.Settings.Drain); what != "" {
		return what
	}
	if is.Settings.Isolation.PowerDelay.Duration > was.Settings.Isolation.PowerDelay.Duration {
		return "isolation.powerDelay"
	}
	if is.Settings.Kdump != nil && was.Settings.Kdump == nil {
		return "kdump"
	}
	if e := is.Settings.EarlyProbe; was.Settings.EarlyProbe != nil && (e == nil || e.LeaseStillDuration.Duration > was.Settings.EarlyProbe.LeaseStillDuration.Duration) {
		return "earlyProbe"
	}
	for _, c := range was.Settings.UnhealthyConditions {
		i := slices.IndexFunc(is.Settings.UnhealthyConditions, func(o api.ConditionSetting) bool { return o.Type == c.Type && o.Status == c.Status })
		if i < 0 || is.Settings.UnhealthyConditions[i].Duration.Duration > c.Duration.Duration {
			return "unhealthyConditions"
		}
	}
	return ""
}

// waitsMore is what of a drain takes longer, or may end a fence that went on before.
func waitsMore(was, is api.DrainSettings) string {
	switch {
	case was.OnTimeout == "": // resolved by a nodefence that drains nothing
	case is.Timeout.Duration > was.Timeout.Duration:
		return "drain.timeout"
	case is.Timeout.Duration > 0 && is.OnTimeout == api.DrainThenGiveUp && was.OnTimeout != api.DrainThenGiveUp:
		return "drain.onTimeout"
	}
	return ""
}
