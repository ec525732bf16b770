package twins

import (
	"slices"

	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
)

// Twin is a Decide, or a gate, that lacks one guard.
type Twin struct {
	Name string
	// Breaks is the promise by which it must be caught, in the words of its check. Another
	// promise that it breaks too does not count: that may be the walk's own fault.
	Breaks string
	Decide walk.Decider
	// gate is the twin where Decide is none.
	gate  walk.Gate
	specs []fencetest.Given
	live  bool
	// near is where the hunt begins.
	near func() []walk.State
	// hunts are shorter walks that come before the whole one, each spec by itself if apart.
	hunts []hunt
	apart bool
}

// hunt is how few looks are taken, and how many states visited.
type hunt struct{ few, most int }

// most of them show soon: a few looks at each start are cheap, and the whole walk is for those
// that nothing less shows.
var soon = []hunt{{23, 150}, {17, 150}, {11, 150}, {17, 1500}, {11, 1500}, {13, 1500}}

// Caught tells where the promise was broken, after how many decisions; empty if it was not.
// Whole takes no short way.
func (x *Twin) Caught(whole bool) (where string, decisions int) {
	try := func(few, most int, from []walk.State) bool {
		r := walk.Run(x.Decide, walk.Options{From: from, Live: x.live, Few: few, Most: most, Wants: x.Breaks, Gate: x.gate})
		where, decisions = r.Broken[x.Breaks], r.Decisions
		return where != ""
	}
	if x.near != nil && try(0, 1500, x.near()) {
		return where, decisions
	}
	for _, h := range x.hunts {
		each := [][]fencetest.Given{x.specs}
		if x.apart {
			each = slices.Collect(slices.Chunk(x.specs, 1))
		}
		for _, of := range each {
			if !(whole && x.apart) && try(h.few, h.most, walk.Begin(of...)) {
				return where, decisions
			}
		}
	}
	try(0, 0, walk.Begin(x.specs...))
	return where, decisions
}
