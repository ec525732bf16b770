package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// slack is how far the API server's clock, which records are written by, and the clock of the
// BMCs' logs may lie apart. A pause of the API server adds to it.
const slack = 2*time.Second + longestPause

// span is a time in which something was so.
type span struct{ from, to time.Time }

// touches tells whether a span and a fence have a moment in common. One that is open lasts.
func (s span) touches(w window) bool {
	return !s.to.Before(w.opened.Add(-slack)) && (w.closed.IsZero() || !s.from.After(w.closed.Add(slack)))
}

// has tells whether a moment lies in a span.
func (s span) has(at time.Time) bool { return !at.Before(s.from) && !at.After(s.to) }

// witness is all that is known of one machine: what its BMC was told, its fences, when its BMC
// misbehaved so that commands had to be repeated, and when the machine was alive all the time.
type witness struct {
	node    string
	told    []rig.Command
	fences  []window
	spoiled []span
	alive   []span
}

// judge holds what the BMC was told against the fences. Each Off and On belongs to a fence that
// cut the power. Where the BMC was well, there are no more Offs than the fence made cuts, and no
// more Ons than Offs. A fence that ended has switched the machine on after its last Off.
func (w witness) judge() error {
	offs, ons, last := map[int64]int{}, map[int64]int{}, map[int64]string{}
	var errs []error
	for _, c := range w.told {
		f, found := w.during(c.Time)
		switch {
		case c.Command != "off" && c.Command != "on":
			errs = append(errs, fmt.Errorf("%s: its BMC was to be told off and on alone, and was told %s at %s", w.node, c.Command, clock(c.Time)))
			continue
		case !found:
			errs = append(errs, fmt.Errorf("%s: its BMC was told %s at %s, and no fence of it was open then", w.node, c.Command, clock(c.Time)))
			continue
		case c.Command == "off":
			offs[f.number]++
		default:
			ons[f.number]++
		}
		last[f.number] = c.Command
		if c.Command == "off" && slices.ContainsFunc(w.alive, func(s span) bool { return s.has(c.Time) }) {
			errs = append(errs, fmt.Errorf("%s: its BMC was told off at %s, while the machine was alive and only its Lease stood still", w.node, clock(c.Time)))
		}
	}
	for _, f := range w.fences {
		errs = append(errs, w.fence(f, offs[f.number], ons[f.number], last[f.number]))
	}
	return errors.Join(errs...)
}

// fence judges one fence by the numbers of its Offs and Ons.
func (w witness) fence(f window, offs, ons int, last string) error {
	well := !slices.ContainsFunc(w.spoiled, func(s span) bool { return s.touches(f) })
	wrong := func(want string) error {
		return fmt.Errorf("%s: in fence %d (%s to %s, %d cuts, %s) its BMC was told off %d times and on %d times; %s",
			w.node, f.number, clock(f.opened), clock(f.closed), f.cuts, f.outcome, offs, ons, want)
	}
	switch {
	case f.cuts == 0 && offs > 0:
		return wrong("a fence that made no cut sends no off")
	case well && offs > f.cuts:
		return wrong("each cut is one off where the BMC is well")
	case well && ons > offs:
		return wrong("each off is followed by one on where the BMC is well")
	case !f.closed.IsZero() && last == "off":
		return wrong("a fence that has ended has switched the machine on again")
	}
	return nil
}

// during is the fence in which a moment lies: one that was open then, or else one that is near.
func (w witness) during(at time.Time) (window, bool) {
	for _, near := range []time.Duration{0, slack} {
		for _, f := range w.fences {
			if !at.Before(f.opened.Add(-near)) && (f.closed.IsZero() || !at.After(f.closed.Add(near))) {
				return f, true
			}
		}
	}
	return window{}, false
}

// clock is a time of day; "now" for one that has not come.
func clock(at time.Time) string {
	if at.IsZero() {
		return "now"
	}
	return at.UTC().Format("15:04:05.000")
}
