package twins

import (
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
)

// Decides are the broken Decides that the walk must catch.
func Decides() []Twin {
	var all []Twin
	add := func(live bool, from []fencetest.Given, tables ...map[string]walk.Decider) {
		for _, table := range tables {
			for name, d := range table {
				x := Twin{Name: name, Breaks: breaks[name], Decide: d, specs: from, live: live, near: near[name], hunts: soon, apart: true}
				if strings.Contains(name, "request") { // elsewhere others may come first to where it shows
					x.specs = []fencetest.Given{specs.Request()}
				}
				if strings.Contains(name, "level") {
					x.specs = []fencetest.Given{specs.Levels()}
				}
				all = append(all, x)
			}
		}
	}
	of := func(specs ...fencetest.Given) []fencetest.Given { return specs }
	add(true, walk.Starts(), broken, brokenGentle, brokenWent, brokenSupplies, brokenAwaited)
	add(true, of(specs.Early()), brokenEarly)
	add(false, of(specs.Device(), specs.DeviceAlone()), brokenWitness)
	add(true, of(specs.WaitForOff()), brokenReads)
	add(true, of(specs.Begun()), brokenBegun)
	add(true, of(specs.DumpProof()), brokenDumpProof)
	add(true, of(specs.Kdump()), brokenOptIn, brokenKdump)
	add(true, of(specs.Gone()), brokenGone)
	add(true, of(fencetest.Spec()), brokenKept)
	add(true, of(specs.Machine()), brokenMachine)
	add(true, of(specs.Bare()), brokenBare)
	add(true, of(specs.Fabric(), specs.Cut()), brokenCut)
	add(true, of(specs.EarlyFabric()), brokenEarlyCut)
	add(true, of(specs.Held()), brokenHeld)
	add(false, of(specs.Manual()), brokenManual)
	add(true, of(specs.Delayed()), brokenDelayed)
	add(true, of(specs.Word()), brokenWord)
	add(true, of(specs.Draining(), specs.GivesUp(), specs.Skips()), brokenDraining)
	add(false, of(specs.Reported()), brokenReported)
	add(false, of(specs.Lies()), brokenLies)
	add(false, of(specs.DryRun(), specs.DryDrain(), specs.DryChecks()), brokenDry)
	return all
}

// ActivityChecks are those that lack a guard of activityChecks or of the storage's check.
func ActivityChecks() []Twin {
	var all []Twin
	for name, d := range brokenActivity {
		all = append(all, Twin{Name: name, Breaks: breaks[name], Decide: d, specs: []fencetest.Given{specs.Activity(), specs.Storage()}})
	}
	return all
}

// few are the hunts of the smaller worlds.
var few = []hunt{{5, 300}, {3, 3000}}

// Joins are those that do wrong with a request that joins a fence.
func Joins() []Twin {
	var all []Twin
	from := []fencetest.Given{specs.Joined(), specs.JoinedFabric()}
	for name, x := range brokenJoins {
		all = append(all, Twin{Name: name, Breaks: x.promise, Decide: x.decide, specs: from, hunts: few})
	}
	for name, x := range brokenGates {
		all = append(all, Twin{Name: name, Breaks: x.promise, Decide: fence.Decide, gate: x.gate, specs: from, hunts: few})
	}
	return all
}

// Counts are those that count wrongly what was tried, cut or told.
func Counts() []Twin {
	var all []Twin
	for name, x := range brokenCounts {
		all = append(all, Twin{Name: name, Breaks: x.promise, Decide: x.decide, specs: []fencetest.Given{specs.Counted()}, hunts: few})
	}
	return all
}

// twin is a Decide that lacks one guard, and the promise that it breaks.
type twin struct {
	promise string
	decide  walk.Decider
}

// Near are the places at which the hunt for some begins.
func Near() map[string][]walk.State {
	all := map[string][]walk.State{}
	for name, begin := range near {
		all[name] = begin()
	}
	return all
}

// Unnamed are the mistakes in the tables: a twin that names no promise or has another's
// name, and a row that is about no twin.
func Unnamed() (wrong []string) {
	known := map[string]bool{}
	for _, x := range slices.Concat(Decides(), ActivityChecks()) {
		if known[x.Name] {
			wrong = append(wrong, "two are called "+x.Name)
		}
		known[x.Name] = true
		if x.Breaks == "" {
			wrong = append(wrong, x.Name+" names no promise")
		}
	}
	for name := range breaks {
		if !known[name] {
			wrong = append(wrong, name+" has a promise, and is no broken Decide")
		}
	}
	for name := range near {
		if !known[name] {
			wrong = append(wrong, name+" has a place, and is no broken Decide")
		}
	}
	return wrong
}
