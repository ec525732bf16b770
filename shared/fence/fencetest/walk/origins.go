package walk

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
)

// Specs are the fences of which Whole is, and one of two levels.
func Specs() []fencetest.Given {
	return slices.Concat(append(Asides(), Starts(), []fencetest.Given{specs.Levels()})...)
}

// Asides are the fences that are worlds of their own, walked aside from Starts.
func Asides() (all [][]fencetest.Given) {
	for _, from := range asides() {
		all = append(all, from.specs)
	}
	return all
}

// origins are the states in which the walk of a fence begins.
func origins(spec fencetest.Given) []State {
	s := State{now: fencetest.Start, spec: spec, sh: shadow{moved: fencetest.Start, renewed: "r0"}}
	switch {
	case s.goes():
		return []State{releasedBy(s, api.ProofSeenOff), releasedBy(s, api.ProofConfirmed)}
	case s.ofMachine():
		return []State{s, servedMachine(s)}
	case s.isEarly() && len(s.spec.Decision.Isolation()) > 0:
		return readOffAlone(s)
	case s.isBare():
		return []State{bareFound(s)}
	case s.isCounted():
		return countedOrigins(s.spec)
	case s.mayLie():
		return []State{cutByALiar(s)}
	case s.isManual():
		return onItsWayBack(s)
	}
	return []State{s}
}

// Starts are where the walk begins. Once a fence was served its states are those
// of any other, and whoever comes there first stands for all.
func Starts() []fencetest.Given {
	return []fencetest.Given{specs.Request(), fencetest.Spec(), specs.Isolate(), specs.Early(), specs.Activity(), specs.Storage()}
}

// Begin is where the walk of such fences begins.
func Begin(specs ...fencetest.Given) (all []State) {
	for _, spec := range specs {
		all = append(all, origins(spec)...)
	}
	return append(all, restoringAfter(specs)...)
}

// aside is a walk of its own: of fences that wait in ways that no other does.
type aside struct {
	specs []fencetest.Given
	Options
}

// asides are these walks. Those of drains have more states than a test has time for: they end early, once in
// the order of the states' finding, and once with few looks, which is soon deep in a fence. So do those of
// a person's word, which tell apart what each of two devices has answered, and when, and those of a device that may lie.
func asides() []aside {
	words := []fencetest.Given{specs.Word(), specs.WordRead(), specs.WordIsolate()}
	drains := []fencetest.Given{specs.Draining(), specs.GivesUp(), specs.Skips()}
	return []aside{
		{[]fencetest.Given{specs.Device(), specs.DeviceAlone()}, Options{}},
		{[]fencetest.Given{specs.Kdump(), specs.WaitForOff()}, Options{Live: true}},
		{[]fencetest.Given{specs.DumpProof()}, Options{Live: true}},
		{[]fencetest.Given{specs.Fabric(), specs.Cut(), specs.EarlyFabric()}, Options{Live: true}},
		{[]fencetest.Given{specs.Gone()}, Options{Live: true}},
		{[]fencetest.Given{specs.Machine()}, Options{Live: true}},
		{[]fencetest.Given{specs.Bare()}, Options{Live: true}},
		{[]fencetest.Given{specs.Held()}, Options{Live: true}},
		{[]fencetest.Given{specs.Manual()}, Options{}},
		{[]fencetest.Given{specs.DryRun(), specs.DryDrain(), specs.DryChecks()}, Options{}},
		{[]fencetest.Given{specs.Delayed()}, Options{Live: true}},
		{words, Options{Live: true, Most: 2000}},
		{words, Options{Live: true, Few: 5, Most: 2000}},
		{[]fencetest.Given{specs.Reported()}, Options{}},
		{[]fencetest.Given{specs.Lies()}, Options{Most: 1000}},
		{[]fencetest.Given{specs.Lies()}, Options{Few: 5, Most: 2000}},
		{drains, Options{Live: true, Most: 20000}},
		{drains, Options{Live: true, Few: 5, Most: 20000}},
	}
}
