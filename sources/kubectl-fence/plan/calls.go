package plan

import (
	"fmt"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// calls returns what a fence without trouble does, in order. Each call to a device is
// followed by a look, and no step relies on the result of a call. off is why the machine is not
// switched on again; empty if it is.
func calls(dec *api.Decision, off string) []string {
	p, levels, cuts := &dec.ResolvedPolicy, dec.PowerLevels(), dec.Isolation()
	marks := "API server: cordon the node, and place taint " + api.IsolationTaint
	out := []string{marks}
	if p.Settings.Action.Device() {
		out = append(out, cutOff(cuts)...)
	}
	if len(levels) == 0 && p.Settings.Action.Device() {
		return append(append(out, byCut(p)...), append(givenBack(cuts), "API server: wait until the node is healthy; then "+marksGo(p))...)
	}
	var b api.Binding
	if len(levels) > 0 {
		b = levels[0]
	}
	device := "device " + b.Words() + ": "
	switch {
	case p.Settings.Action == api.ActionWaitForOff && b.Driver != "":
		out = []string{device + "State, now and then, until it reads off, or a person confirms that the machine is off (spec.requests.confirmOff); nothing is switched",
			marks, device + "State, once more, at least " + facts.ReadsApart(&b, false).String() + " later, where no person has confirmed"}
	case !p.Settings.Action.Device():
		out = append(out, "a person confirms that the machine is off (spec.requests.confirmOff); no device is touched")
	default:
		out = append(out, switchedOff(p, levels)...)
	}
	out = append(out, released(p)...)
	if off != "" {
		return append(out, leftOff(dec, off)...)
	}
	out = append(out,
		device+"On, if it was nodefence that switched it off",
		device+"State, until it reads on")
	return append(append(out, givenBack(cuts)...),
		fmt.Sprintf("API server: wait until the node is healthy for %s, %s at most; then %s", p.Settings.Recovery.ReadyDuration.Duration, p.Settings.Recovery.BootTimeout.Duration, marksGo(p)))
}

// switchedOff returns the calls that switch a machine off and prove it off.
func switchedOff(p *api.ResolvedPolicy, levels []api.Binding) []string {
	device := "device " + levels[0].Words() + ": "
	out := []string{
		device + "State",
		device + "Off, if the machine reads on" + deletes(&levels[0]),
		device + "State, until it reads off twice, at least " + facts.ReadsApart(&levels[0], true).String() + " apart, and a whole renewal of the node's Lease if that still moved",
	}
	for i := 1; i < min(len(levels), int(p.Settings.Power.MaxLevels)); i++ {
		out = append(out, fmt.Sprintf("only if it can't be seen off: the same with level %d, device %s%s; what was cut is undone in reverse", i+1, levels[i].Words(), deletes(&levels[i])))
	}
	return out
}

// deletes says of a device whose Off can't be undone what it does.
func deletes(b *api.Binding) string {
	if b.DeletesMachine() {
		return ": it deletes the Machine object, with which the instance is deleted too"
	}
	return ""
}

// leftOff returns the calls after the release of a machine that is not switched on again, and why it
// is not.
func leftOff(dec *api.Decision, why string) []string {
	p, b := &dec.ResolvedPolicy, dec.Power(0)
	var out []string
	if p.Settings.Release.DeleteNode {
		out = append(out, "API server: delete the Node object, once nothing is left on it (release.deleteNode)")
	}
	if p.Settings.Action.Device() {
		out = append(out, givenBack(dec.Isolation())...)
	}
	words := "the machine stays off, because " + why
	switch {
	case p.Settings.Action.Device() && b != nil && b.DeletesMachine():
		words = "nothing switches the machine on again: the owner of its Machine makes another one in its place"
	case !p.Settings.Release.DeleteNode:
		words += "; when somebody has switched it on and it is healthy: " + marksGo(p)
	}
	return append(out, words)
}

// marksGo says when the node gets work again.
func marksGo(p *api.ResolvedPolicy) string {
	const away = "taint and cordon away"
	if p.Settings.Recovery.Uncordon == api.UncordonManual {
		return away + " once a person uncordons it (kubectl uncordon, or spec.requests.uncordon)"
	}
	return away
}

// cutOff returns the calls to the devices of the isolation.
func cutOff(cuts []api.Binding) []string {
	var out []string
	for _, b := range cuts {
		fails := "goes on without it"
		if b.Must {
			fails = "fails"
		}
		device := "device " + b.Words() + ": "
		out = append(out, device+"State", device+"Off, if the machine has "+strings.ToLower(string(b.Role)),
			device+"State, until it reads cut off; if it never does, the fence "+fails)
	}
	return out
}

// givenBack returns the calls that undo the isolation, in reverse.
func givenBack(cuts []api.Binding) []string {
	var out []string
	for i := len(cuts) - 1; i >= 0; i-- {
		b := &cuts[i]
		if b.LeaveOff {
			out = append(out, "device "+b.Words()+": a person gives back what it has cut off")
			continue
		}
		out = append(out, "device "+b.Words()+": On, if it was nodefence that cut it off, and State until it reads as given back")
	}
	return out
}

// byCut says what is released if no device switches the machine.
func byCut(p *api.ResolvedPolicy) []string {
	if p.Settings.Release.Strategy == api.ReleaseNone {
		return released(p)
	}
	first := strings.TrimPrefix(detachedFirst(p), ", ")
	if first != "" {
		first += ", of those that the cut covers; then "
	}
	return []string{
		"API server: " + first + "force-delete the pods all of whose writable volumes are cut off, then the attachments of volumes that no pod of it uses any more; all others stay",
		fmt.Sprintf("API server: wait until those are gone, or %s", p.Settings.Release.Timeout.Duration),
		"wait until the node has rebooted, or its kubelet says that it uses none of those volumes any more",
	}
}

// detachedFirst says what is detached before any pod is deleted.
func detachedFirst(p *api.ResolvedPolicy) string {
	var first []string
	for _, v := range p.Settings.Release.DetachFirst {
		first = append(first, v.String())
	}
	if first == nil {
		return ""
	}
	return ", delete the attachments of " + strings.Join(first, " or ") + " and wait until they are gone"
}

// released says what happens to the node's work.
func released(p *api.ResolvedPolicy) []string {
	how := p.Settings.Release
	if how.Strategy == api.ReleaseNone {
		return []string{"the node's pods and volumes are left as they are (release.strategy None)"}
	}
	words := "API server: set Ready to Unknown"
	if how.Taints() {
		words += ", place the out-of-service taint"
	}
	words += detachedFirst(p)
	if how.Deletes() {
		words += ", force-delete the node's pods"
	}
	if len(how.StorageClassNames) > 0 {
		words += " that use storage of class " + strings.Join(how.StorageClassNames, ", ")
	}
	if n := how.PodsPerMinute; n != nil {
		words += fmt.Sprintf(", at most %d a minute", *n)
	}
	if how.RespectDisruptionBudgets {
		words += ", as their disruption budgets allow"
	}
	if how.Detaches() {
		words += ", then the attachments of volumes that no pod of it uses any more"
	}
	return []string{words, fmt.Sprintf("API server: wait until its pods and volume attachments are gone, or %s", p.Settings.Release.Timeout.Duration)}
}
