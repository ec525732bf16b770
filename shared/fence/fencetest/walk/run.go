package walk

import (
	"runtime"
	"strings"
	"sync"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Options say where a walk begins, how far it goes, and what ends it.
type Options struct {
	// From is where it begins: Begin, or one of the places of places.go.
	From []State
	// Live follows states into worlds that mean well, where each must come to an end.
	Live bool
	// Levels visits nodes of two levels too.
	Levels bool
	// Few takes one look in so many, and every other time goes on from where the walk came
	// last, so that it is soon deep in a fence; 0 takes every look, in the order of the
	// states' finding.
	Few int
	// Most is how many states are visited; 0 is all.
	Most int
	// Wants is a promise whose breaking ends the walk; empty is none.
	Wants string
	// Gate answers the requests that come; zero is the fence's own.
	Gate Gate
}

// Result is what a walk has seen.
type Result struct {
	// States and Decisions are how many it came to.
	States, Decisions int
	// Transitions are "From --> To: Reason".
	Transitions map[string]bool
	// Broken has the first place at which each promise was broken.
	Broken map[string]string
	states map[api.Phase]int
	met    met
}

// Run walks what a Decide can come to.
func Run(d Decider, o Options) Result {
	w := newWalker(d, o)
	w.begin(o.From...)
	w.walk()
	return w.result()
}

// Whole is the walk of which states.md tells: what may come together is walked at once, what
// is a world of its own is walked aside. As many walks as there are processors go on at a time;
// their results are joined in the order of asides, so that the order in which they end does not
// show.
func Whole(d Decider) Result {
	from := append([]aside{{Starts(), Options{Live: true, Levels: true}}}, asides()...)
	walkers, places := make([]*walker, len(from)), make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i, a := range from {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			w := newWalker(d, a.Options)
			w.begin(Begin(a.specs...)...)
			w.walk()
			walkers[i] = w
		})
	}
	running.Wait()
	for _, x := range walkers[1:] {
		walkers[0].add(x)
	}
	return walkers[0].result()
}

func (w *walker) result() Result {
	r := Result{States: len(w.seen), Decisions: w.decisions, Transitions: w.edges, Broken: w.broken, met: w.met, states: map[api.Phase]int{}}
	for k := range w.seen {
		if p, is := strings.CutPrefix(k, `["`); is { // of the others kindOf tells the restored
			p, _, _ = strings.Cut(p, `"`)
			r.states[api.Phase(p)]++
		}
	}
	return r
}

// Visited tells whether the walk came to a phase.
func (r *Result) Visited(p api.Phase) bool { return r.states[p] > 0 }
