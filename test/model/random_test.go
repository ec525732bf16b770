package model

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// Of this many steps one is something that goes wrong, as long as something may still go wrong
// and the scenario does not say otherwise.
const oneHazardIn = 24

// longestSchedule bounds a random way: most have some hundred steps. In this world time passes only while
// nobody has anything to do, so that a gate and an isolate whose clocks lie apart may send a fence to and fro
// for ever, which ends as soon as their clocks agree.
const longestSchedule = 5000

// random takes one way through the scenario, by its seed.
func (x *explorer) random(seed uint64) (s *state, schedule []string) {
	dice := rand.New(rand.NewPCG(seed, 0))
	s = x.begin()
	for !s.finished(x.until) && len(schedule) < longestSchedule {
		var well, ill []option
		for _, o := range x.options(s) {
			if o.hazard {
				ill = append(ill, o)
			} else {
				well = append(well, o)
			}
		}
		from := well
		if len(ill) > 0 && dice.IntN(cmp.Or(x.hazardIn, oneHazardIn)) == 0 {
			from = ill
		}
		o := from[dice.IntN(len(from))]
		schedule = append(schedule, o.id)
		o.do(s)
		x.moves++
	}
	return s, schedule
}

// replay follows a schedule as far as it can: it leaves out steps that are not possible, and
// after its end it runs one invocation after the other.
func (x *explorer) replay(schedule []string) *state {
	s := x.begin()
	for !s.finished(x.until) {
		all := x.options(s)
		next := all[0]
		for len(schedule) > 0 {
			i := slices.IndexFunc(all, func(o option) bool { return o.id == schedule[0] })
			schedule = schedule[1:]
			if i >= 0 {
				next = all[i]
				break
			}
		}
		if x.tell != nil && (next.hazard || next.id == "time") {
			x.tell(next.id, s.now.String())
		}
		next.do(s)
	}
	return s
}

// shrink removes from a failing schedule each step without which it still fails, within this many
// replays.
func (x *explorer) shrink(schedule []string) []string {
	want, left := x.replay(schedule).watch.broken, 1500
	for size := len(schedule); size > 0; size /= 2 {
		for i := 0; i+size <= len(schedule) && left > 0; left-- {
			less := slices.Delete(slices.Clone(schedule), i, i+size)
			if x.replay(less).watch.broken == want {
				schedule = less
			} else {
				i += size
			}
		}
	}
	return schedule
}

// story prints a shrunk schedule in lines for people: each is what one invocation does before
// another continues.
func (x *explorer) story(schedule []string) string {
	schedule = x.shrink(schedule)
	var lines []string
	last := ""
	x.tell = func(who, what string) {
		if who != last {
			lines = append(lines, who+":")
		}
		last = who
		lines[len(lines)-1] += " " + what
	}
	defer func() { x.tell = nil }()
	s := x.replay(schedule)
	if n := len(lines) - mostLines; n > 0 {
		lines = slices.Replace(lines, mostLines/2, mostLines/2+n, fmt.Sprintf("(%d lines more)", n))
	}
	return fmt.Sprintf("broken: %s\n\tbecause %s\n\tafter\n\t%s", s.watch.broken, s.watch.fault, strings.Join(lines, "\n\t"))
}

// mostLines of a story are printed: its beginning and its end.
const mostLines = 20

// inWords is a call in two words, or three if it was refused.
func inWords(r request, a answer) string {
	path := r.path
	for _, root := range []string{"/apis/nodefence.io/v1alpha1/", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/", "/apis/storage.k8s.io/v1/", "/api/v1/", "/"} {
		path = strings.TrimPrefix(path, root)
	}
	words := strings.ToLower(r.method) + " " + path
	if strings.HasPrefix(r.path, machineRoom) {
		words += "=" + string(r.body) + string(a.body)
	}
	if a.code >= http.StatusBadRequest {
		words += " (" + http.StatusText(a.code) + ")"
	}
	return words + ";"
}
