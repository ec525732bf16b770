package config

import (
	"slices"

	"github.com/nodefence/nodefence/shared/device"
)

// builtins are the methods that every flow has.
var builtins = map[string]Do{
	"mark_unschedulable": MarkUnschedulable, "cordon": MarkUnschedulable,
	"mark_schedulable": MarkSchedulable, "uncordon": MarkSchedulable,
	"clean_pods": CleanPods, "out_of_service": OutOfService, "kdump_wait": KdumpWait,
}

// elsewhere are the proposal's methods that are no step of a node, with the field that
// replaces each. They are refused, because a user who writes one relies on it.
var elsewhere = map[string]string{
	"detach_volumes": "release.resourceDeletion.detachFirst of the node's FencePolicy names the volumes or storage classes to detach before any pod is deleted",
}

// builtin returns the built-in's name for a normalised name.
func builtin(name string) (string, bool) {
	_, ok := builtins[name]
	_, switches := instances[name]
	_, other := elsewhere[name]
	return name, ok || switches || other
}

// The stages, by their keys.
const (
	isolation = "isolation"
	power     = "power_management"
	recovery  = "recovery"
)

// stage is the result of one line of config.properties.
type stage struct {
	steps []Step
	// on are power-ons that wait for recovery (S4: off, seen off, released, on), one for
	// each device.
	on      []Step
	devices []*bound
	// cuts are the devices that cut off storage or network, or give access back.
	cuts []*bound
}

func has(steps []Step, do Do) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Do == do })
}

// add puts the calls to a device into the right lists.
func (g *stage) add(s Step, off, on, keepOn bool, b *bound) {
	do := func(d Do) Step { s.Do = d; return s }
	if !off && !on {
		g.steps = append(g.steps, do(Status))
	}
	if off {
		g.steps = append(g.steps, do(Off))
	}
	switch {
	case on && keepOn && slices.ContainsFunc(g.devices, func(o *bound) bool { return o.on && o.Driver == b.Driver && o.Address == b.Address }):
	case on && keepOn:
		g.on = append(g.on, do(On))
	case on:
		g.steps = append(g.steps, do(On))
	}
}

// levels are the keys of the further levels, in order.
var levels = []string{power + "_2", power + "_3", power + "_4"}

// isPower reports whether the key is a level's.
func isPower(key string) bool { return key == power || slices.Contains(levels, key) }

// scopes are the proposal's methods that are named after their effect. A user who names one
// writes a method of that name, with a device that has this effect.
var scopes = map[string]device.Scope{"storage_isolate": device.ScopeStorage, "network_isolate": device.ScopeNetwork}

// instances are the built-in methods that switch a cloud's instance, with the equivalent
// action of an agent.
var instances = map[string]string{"restart_instance": "reboot", "stop_instance": "off", "start_instance": "on", deleteMachine: "off"}

// deleteMachine ends the instance for good, and needs another driver.
const deleteMachine = "delete_machine"
