package act

import (
	"cmp"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Follows says what a fence by this decision does that cuts power at that time. f is the node's
// record, nil if it has none. What can't be undone is in capitals.
func Follows(d *api.Decision, f *api.NodeFence, at time.Time) []string {
	return follows(d, f, at, true)
}

// follows is Follows; bound is false if no more is known of the devices than their names.
func follows(d *api.Decision, f *api.NodeFence, at time.Time, bound bool) []string {
	if m := d.Trigger.Machine; d.Trigger.OnlyMachine() {
		return []string{"- Machine " + m.String() + ", which has no node, IS DELETED, and its instance with it: its owner makes another one in its place"}
	}
	out := []string{"- the node is tainted and cordoned"}
	switch d.Settings.Action {
	case api.ActionReboot, api.ActionOff:
		out = append(out, cuts(d)...)
		if len(d.PowerLevels()) == 0 && len(d.Isolation()) > 0 {
			return append(out, onlyCut(d)...)
		}
		out = append(out, switchedOff(d)...)
	case api.ActionIsolate:
		return append(out, "- no device is touched, and nothing is released before a person confirms that the machine is off")
	case api.ActionWaitForOff:
		out = []string{"- no device switches anything: the machine is read until it is off, or a person confirms that"}
	}
	if d.Settings.Release.Strategy != api.ReleaseNone {
		out = append(out, "- its pods and volumes are released to start elsewhere")
	}
	if d.Settings.Release.DeleteNode {
		out = append(out, "- its Node object IS DELETED once nothing is left on it (release.deleteNode)")
	}
	return append(out, last(d, f, at, bound))
}

// cuts are what cuts the machine off from storage and network.
func cuts(d *api.Decision) (out []string) {
	for _, b := range d.Isolation() {
		words := "- it is cut off from its " + strings.ToLower(string(b.Role)) + " by " + b.Words()
		if b.Must {
			words += ", and the fence goes no further before that is seen"
		}
		if b.LeaveOff {
			words += "; A PERSON MUST GIVE THAT BACK"
		}
		out = append(out, words)
	}
	return out
}

// onlyCut is what follows where no device switches the machine.
func onlyCut(d *api.Decision) []string {
	out := []string{"- no device switches its machine, and nothing is released"}
	if d.Settings.Release.Strategy != api.ReleaseNone {
		out[0] = "- no device switches its machine: pods all of whose writable volumes are cut off are released to start elsewhere, and all others stay"
	}
	return append(out, "- it gets access again once it has rebooted, or uses none of those volumes any more, and "+givenBack(d))
}

// switchedOff is what switches the machine off, or deletes it.
func switchedOff(d *api.Decision) []string {
	by, more, how := []string{}, []string{}, "its machine is switched off"
	levels := d.PowerLevels()
	for i := range levels[:min(len(levels), max(1, int(d.Settings.Power.MaxLevels)))] {
		b := &levels[i]
		by = append(by, b.Words())
		switch {
		case b.DeletesMachine() && i == 0:
			how = "its Machine object IS DELETED, and its instance with it"
		case b.DeletesMachine():
			more = append(more, "- if it comes to "+b.Words()+", its Machine object IS DELETED, and its instance with it")
		}
	}
	if len(by) == 0 {
		by = []string{cmp.Or(d.DevicesError, "the device that kubectl fence plan names")}
	}
	return append([]string{"- " + how + ", and read off twice, by " + strings.Join(by, ", then ")}, more...)
}

// last is what becomes of the machine and the node in the end.
func last(d *api.Decision, f *api.NodeFence, at time.Time, bound bool) string {
	why := StaysOff(d, f, at)
	switch b := d.Power(0); {
	case d.Settings.Action.Device() && b != nil && b.DeletesMachine():
		return "- nothing switches it on again: the owner of its Machine makes another one in its place"
	case why == "" && !bound:
		return "- its machine is switched on again if its configuration has a method for that, and " + givenBack(d)
	case why == "":
		return "- its machine is switched on again, and " + givenBack(d)
	case d.Settings.Action == api.ActionReboot:
		return "- its machine then STAYS OFF, because " + why
	}
	return "- the machine stays off until a person switches it on"
}

// givenBack is when the node takes new pods again.
func givenBack(d *api.Decision) string {
	if d.Settings.Recovery.Uncordon == api.UncordonManual {
		return "the node is kept isolated until it is healthy and somebody gives it back (kubectl fence lift)"
	}
	return "the node is given back once it is healthy"
}
