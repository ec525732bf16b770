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

// asks has the fields of api.Settings by which a policy may ask for more: what must be seen or waited for before the
// first cut.
var asks = []struct {
	field string
	// more tells whether is asks for something that was did not ask for.
	more func(was, is *api.Settings) bool
}{
	{"activityChecks", func(was, is *api.Settings) bool { return is.ActivityChecks != nil && was.ActivityChecks == nil }},
	{"storageCheck", func(was, is *api.Settings) bool { return is.StorageCheck != nil && was.StorageCheck == nil }},
	{"drain.timeout", func(was, is *api.Settings) bool {
		return drains(was) && is.Drain.Timeout.Duration > was.Drain.Timeout.Duration
	}},
	{"drain.onTimeout", func(was, is *api.Settings) bool {
		return drains(was) && is.Drain.Timeout.Duration > 0 && is.Drain.OnTimeout == api.DrainThenGiveUp && was.Drain.OnTimeout != api.DrainThenGiveUp
	}},
	{"isolation.powerDelay", func(was, is *api.Settings) bool {
		return is.Isolation.PowerDelay.Duration > was.Isolation.PowerDelay.Duration
	}},
	{"kdump", func(was, is *api.Settings) bool { return is.Kdump != nil && was.Kdump == nil }},
	{"earlyProbe", func(was, is *api.Settings) bool {
		e := is.EarlyProbe
		return was.EarlyProbe != nil && (e == nil || e.LeaseStillDuration.Duration > was.EarlyProbe.LeaseStillDuration.Duration)
	}},
	{"unhealthyConditions", func(was, is *api.Settings) bool {
		return slices.ContainsFunc(was.UnhealthyConditions, func(c api.ConditionSetting) bool {
			i := slices.IndexFunc(is.UnhealthyConditions, func(o api.ConditionSetting) bool { return o.Type == c.Type && o.Status == c.Status })
			return i < 0 || is.UnhealthyConditions[i].Duration.Duration > c.Duration.Duration
		})
	}},
}

// asksNoMore has the fields of api.Settings that table asks leaves out, and why.
var asksNoMore = map[string]string{
	"action":          "stricter compares it",
	"mode":            "stricter compares it",
	"controlPlane":    "stricter compares it",
	"conflict":        "a hold",
	"excluded":        "a hold",
	"perNode":         "counted",
	"approvalTimeout": "how long a person is waited for",
	"power":           "a fence follows it as admitted",
	"release":         "comes after the cut",
	"recovery":        "comes after the cut",
}

// asksMore returns the first field by which the policies ask for more; empty if there is none.
func asksMore(was, is api.ResolvedPolicy) string {
	for _, a := range asks {
		if a.more(&was.Settings, &is.Settings) {
			return a.field
		}
	}
	return ""
}

// drains tells whether the settings were resolved by a nodefence that drains nodes.
func drains(s *api.Settings) bool { return s.Drain.OnTimeout != "" }
