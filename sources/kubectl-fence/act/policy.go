package act

import (
	"fmt"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Pause adds a name to the policy's pauseRequests: no new fence begins under it.
func Pause(p *api.FencePolicy, name string) (Change, error) {
	if slices.Contains(p.Spec.PauseRequests, name) {
		return Change{}, fmt.Errorf("policy %s is paused by %s already", p.Name, name)
	}
	c := paused(p, append(slices.Clone(p.Spec.PauseRequests), name))
	c.brake = true
	c.Says = []string{fmt.Sprintf("No new fence begins under policy %s until %s is taken out of spec.pauseRequests again (kubectl fence resume %[1]s).", p.Name, name),
		"What was begun runs to its end."}
	c.Done = fmt.Sprintf("policy %s paused by %s", p.Name, name)
	return c, nil
}

// Resume takes a name out of the policy's pauseRequests. The ledger l may hold fences all the same; it is nil
// for whoever may not read it.
func Resume(p *api.FencePolicy, l *api.FenceLedger, name string) (Change, error) {
	left := slices.DeleteFunc(slices.Clone(p.Spec.PauseRequests), func(s string) bool { return s == name })
	switch {
	case len(p.Spec.PauseRequests) == 0:
		return Change{}, fmt.Errorf("policy %s is not paused", p.Name)
	case len(left) == len(p.Spec.PauseRequests):
		return Change{}, fmt.Errorf("policy %s is not paused by %s but by %s: name one of them with --as-name", p.Name, name, strings.Join(left, ", "))
	}
	c := paused(p, left)
	c.Says = []string{begins(l, fmt.Sprintf("Fences may begin again under policy %s, at once for nodes that are unhealthy now.", p.Name))}
	if l == nil {
		c.Says = append(c.Says, "Whether something else holds all fences is not known: you may not read the FenceLedger.")
	}
	if len(left) > 0 {
		c.Says = []string{fmt.Sprintf("Policy %s stays paused by %s.", p.Name, strings.Join(left, ", "))}
	}
	c.Done = fmt.Sprintf("policy %s no longer paused by %s", p.Name, name)
	return c, nil
}

func paused(p *api.FencePolicy, names []string) Change {
	var to any = names
	if len(names) == 0 {
		to = nil
	}
	return Change{Resource: "fencepolicies", Name: p.Name, beside: "pauseChanged", Patch: map[string]any{"metadata": guard(&p.ObjectMeta), "spec": map[string]any{"pauseRequests": to}}}
}

// Stop sets the ledger's stop switch.
func Stop(l *api.FenceLedger, why string) (Change, error) {
	if l.Spec.Stop {
		return Change{}, fmt.Errorf("FenceLedger %s is stopped already", l.Name)
	}
	c := switched(l, map[string]any{"stop": true, "stopReason": why})
	c.brake = true
	c.Says = []string{"In the whole cluster no fence begins, and no further power-off is sent, until somebody runs kubectl fence start.",
		"What was begun runs to its end: proven off, released, switched on again."}
	c.Done = "fencing stopped in the whole cluster"
	return c, nil
}

// Start resets the ledger's stop switch.
func Start(l *api.FenceLedger) (Change, error) {
	if !l.Spec.Stop {
		return Change{}, fmt.Errorf("FenceLedger %s is not stopped", l.Name)
	}
	c := switched(l, map[string]any{"stop": false, "stopReason": nil})
	c.Patch["metadata"] = guard(&l.ObjectMeta) // of no stop that was made after this one was shown
	after := *l
	after.Spec.Stop = false
	c.Says = []string{begins(&after, "Fences may begin again in the whole cluster, at once for nodes that are unhealthy now.")}
	if l.Spec.StopReason != "" {
		c.Says = append([]string{"It was stopped because: " + l.Spec.StopReason + "."}, c.Says...)
	}
	c.Done = "fencing may begin again"
	return c, nil
}

func switched(l *api.FenceLedger, spec map[string]any) Change {
	if spec["stopReason"] == "" {
		delete(spec, "stopReason")
	}
	// The ledger's status is written every few seconds: its resourceVersion would hardly ever hold,
	// and a stop waits for nothing.
	return Change{Resource: "fenceledgers", Name: l.Name, beside: "stopChanged", Patch: map[string]any{"metadata": map[string]any{"uid": string(l.UID)}, "spec": spec}}
}
