package mhc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/policy"
)

// What is on the FencePolicies that are made from MachineHealthChecks.
const (
	// AdoptedLabel, with AdoptedValue, is on all of them.
	AdoptedLabel = policy.AdoptedLabel
	AdoptedValue = "machine-health-check"
	// FromAnnotation says from which object: group/namespace/name.
	FromAnnotation = "nodefence.io/machine-health-check"
)

// precedence is that of the generated policies: whoever writes a FencePolicy, without a precedence or
// with a lower one, decides for its nodes.
const precedence = 1000

// stampAge is how old the time on a policy becomes until it is written anew: well below the age from
// which the policy holds by itself.
const stampAge = 2 * time.Minute

// longestPause is what a policy takes of the name of a pause.
const longestPause = 253

// pause is the name under which a MachineHealthCheck pauses its policy.
func (c *Check) pause() string { return clip.To(longestPause, c.String()) }

// Policy is the FencePolicy that follows from it, as the API server takes it, and whether that is
// another one than object, which is the one that there is (nil for none). What follows from the
// MachineHealthCheck is written over whatever stands there: selector, machines, unhealthyConditions,
// action, limits.maxUnhealthy, and its own pause. The rest is written once, when the policy is
// created, and then belongs to whoever edits it: mode, precedence, the other limits, windows, and the
// pauses of others. With hold no fence begins under it. It says when it was computed, and is another
// one once that is stampAge old.
func (c *Check) Policy(object map[string]any, n Count, hold bool, at time.Time) (map[string]any, bool) {
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
	c.paused(now, hold)
	stamps := now["metadata"].(map[string]any)["annotations"].(map[string]any)
	if was, _ := stamps[policy.ComputedAt].(string); !equality.Semantic.DeepEqual(object, now) || !policy.Stamp(was).Within(stampAge, at) {
		stamps[policy.ComputedAt] = at.UTC().Format(time.RFC3339)
	}
	return now, !equality.Semantic.DeepEqual(object, now)
}

// Held is its policy with nothing changed but that no fence begins under it, and whether that is another
// one than object. It has what people wrote, for the time when the object is answered again.
func (c *Check) Held(object map[string]any) (map[string]any, bool) {
	now := runtime.DeepCopyJSON(object)
	c.paused(now, true)
	return now, !equality.Semantic.DeepEqual(object, now)
}

// paused adds or takes away its own pause of a policy.
func (c *Check) paused(object map[string]any, hold bool) {
	spec, _ := object["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		object["spec"] = spec
	}
	has, _ := spec["pauseRequests"].([]any)
	if hold && slices.Contains(has, any(c.pause())) {
		return
	}
	pauses := slices.DeleteFunc(slices.Clone(has), func(by any) bool { return by == c.pause() })
	if hold {
		pauses = append(pauses, c.pause())
	}
	if spec["pauseRequests"] = pauses; len(pauses) == 0 {
		delete(spec, "pauseRequests")
	}
}

// Made tells whether a policy with the label is the one that was made from the object that it names. A
// copy of it, by another name, is somebody's own.
func Made(name, from string) (*Check, bool) {
	parts := strings.SplitN(from, "/", 3)
	if len(parts) != 3 {
		return nil, false
	}
	c := &Check{}
	c.APIVersion, c.Kind, c.Namespace, c.Name = parts[0], "MachineHealthCheck", parts[1], parts[2]
	return c, c.PolicyName() == name
}

// owned are the fields of spec that follow from the MachineHealthCheck alone, as JSON has them.
func (c *Check) owned() map[string]any {
	s := api.FencePolicySpec{
		Selector:            &api.LabelSelector{MatchLabels: map[string]string{c.Label(): LabelValue}},
		UnhealthyConditions: c.Conditions,
		Machines:            &api.MachinesRule{Namespace: c.Namespace, Selector: c.machines(), StartupTimeout: api.DurationOf(startupDefault), WithoutNode: new(api.ReportMachine)},
		Action:              api.ActionOff,
	}
	if c.Startup > 0 {
		s.Machines.StartupTimeout = api.DurationOf(c.Startup)
	}
	if c.byPower() {
		s.Action = api.ActionReboot
	}
	// Cluster API's controller writes nodeRef, often from another cluster. While it is stopped, or can't reach
	// this one, a Machine without a nodeRef may have a node that works, by whatever name, and its deletion
	// would end what runs there (S2: what was not seen is not taken for a no). Cluster API deletes none then.
	// It also counts the startup time anew once the Machine's infrastructure is ready, which is not read here.
	if c.Startup > 0 && !c.byPower() && c.Group() == OpenShift {
		s.Machines.WithoutNode = new(api.DeleteMachine)
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

// machines is the selector of its Machines for a policy, which reads those of both groups. Each
// Machine of Cluster API has the label of its cluster.
func (c *Check) machines() *api.LabelSelector {
	s := c.Selector.DeepCopy()
	if c.Group() == OpenShift {
		s.MatchExpressions = append(s.MatchExpressions, api.LabelRequirement{Key: clusterLabel, Operator: metav1.LabelSelectorOpDoesNotExist})
	}
	return s
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
