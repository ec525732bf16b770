package mhc

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// What is on the FencePolicies that are made from MachineHealthChecks.
const (
	// AdoptedLabel, with AdoptedValue, is on all of them, and on no other.
	AdoptedLabel = "nodefence.io/adopted-from"
	AdoptedValue = "machine-health-check"
	// FromAnnotation says from which object: group/namespace/name.
	FromAnnotation = "nodefence.io/machine-health-check"
)

// precedence is that of the generated policies: whoever writes a FencePolicy, without a precedence or
// with a lower one, decides for its nodes.
const precedence = 1000

// longestPause is what a policy takes of the name of a pause.
const longestPause = 253

// pause is the name under which a MachineHealthCheck pauses its policy.
func (c *Check) pause() string { return clip.To(longestPause, c.String()) }

// Policy is the FencePolicy that follows from it, as the API server takes it, and whether that is
// another one than object, which is the one that there is (nil for none). What follows from the
// MachineHealthCheck is written over whatever stands there: selector, machines, unhealthyConditions,
// action, limits.maxUnhealthy, and its own pause. The rest is written once, when the policy is
// created, and then belongs to whoever edits it: mode, precedence, the other limits, windows, and the
// pauses of others. With hold no fence begins under it.
func (c *Check) Policy(object map[string]any, n Count, hold bool) (map[string]any, bool) {
	now := map[string]any{}
	if object != nil {
		now = runtime.DeepCopyJSON(object)
	} else {
		set(now, "nodefence.io/v1alpha1", "apiVersion")
		set(now, "FencePolicy", "kind")
		set(now, c.PolicyName(), "metadata", "name")
		set(now, string(api.ModeEnforce), "spec", "mode")
		set(now, float64(precedence), "spec", "precedence")
	}
	set(now, AdoptedValue, "metadata", "labels", AdoptedLabel)
	set(now, c.From(), "metadata", "annotations", FromAnnotation)
	for field, value := range c.owned() {
		set(now, value, "spec", field)
	}
	set(now, float64(min(n.To, most)), "spec", "limits", "maxUnhealthy")
	spec := now["spec"].(map[string]any)
	pauses, _ := spec["pauseRequests"].([]any)
	pauses = slices.DeleteFunc(slices.Clone(pauses), func(by any) bool { return by == c.pause() })
	if hold {
		pauses = append(pauses, c.pause())
	}
	if spec["pauseRequests"] = pauses; len(pauses) == 0 {
		delete(spec, "pauseRequests")
	}
	return now, !equality.Semantic.DeepEqual(object, now)
}

// owned are the fields of spec that follow from the MachineHealthCheck alone, as JSON has them.
func (c *Check) owned() map[string]any {
	s := api.FencePolicySpec{
		Selector:            &api.LabelSelector{MatchLabels: map[string]string{c.Label(): LabelValue}},
		UnhealthyConditions: c.Conditions,
		Machines:            &api.MachinesRule{Namespace: c.Namespace, Selector: &c.Selector, StartupTimeout: api.DurationOf(startupDefault), WithoutNode: new(api.ReportMachine)},
		Action:              api.ActionOff,
	}
	if c.Startup > 0 {
		s.Machines.StartupTimeout = api.DurationOf(c.Startup)
		s.Machines.WithoutNode = new(api.DeleteMachine)
	}
	if c.byPower() {
		s.Action, s.Machines.WithoutNode = api.ActionReboot, new(api.ReportMachine)
	}
	raw, err := json.Marshal(s)
	all := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		panic(fmt.Sprintf("a FencePolicy is no JSON: %v", err)) // it has no field that is not
	}
	return map[string]any{"selector": all["selector"], "unhealthyConditions": all["unhealthyConditions"], "machines": all["machines"], "action": all["action"]}
}

// set sets a field of an object, and makes what is above it.
func set(object map[string]any, value any, path ...string) {
	for _, name := range path[:len(path)-1] {
		below, is := object[name].(map[string]any)
		if !is {
			below = map[string]any{}
			object[name] = below
		}
		object = below
	}
	object[path[len(path)-1]] = value
}
