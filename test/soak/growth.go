package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// sample is what both nodefence-local use at one time. Much of the resident memory (rss) is the
// program's own file; anon is the part that the program has filled itself, where a leak shows first.
type sample struct {
	at                    time.Time
	rss, anon, goroutines int
	// starts is how often they have been started: it tells one stretch from the next.
	starts int
}

// growth is what a stretch without a kill came to: medians of the first and of the last fifth.
type growth struct {
	samples                    int
	length                     time.Duration
	rss, rssLast               int
	anon, anonLast             int
	goroutines, goroutinesLast int
}

// leastSamples are as many as are judged, so that each fifth has two.
const leastSamples = 10

// sampleEvery is how often it is sampled: each 30 s, and more often where the run is short.
func sampleEvery(length time.Duration) time.Duration {
	return min(max(length/60, 2*time.Second), 30*time.Second)
}

// stretch are the samples between two starts that span the longest time.
func stretch(all []sample) (longest []sample) {
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(s sample) bool { return s.starts != all[0].starts })
		if n < 0 {
			n = len(all)
		}
		if len(longest) == 0 || all[n-1].at.Sub(all[0].at) > longest[len(longest)-1].at.Sub(longest[0].at) {
			longest = all[:n]
		}
		all = all[n:]
	}
	return longest
}

// grown compares the last fifth of the longest stretch with the first one after its warm-up,
// which is a fifth of the stretch.
func grown(all []sample) (growth, error) {
	long := stretch(all)
	long = long[len(long)/5:]
	if len(long) < leastSamples {
		return growth{}, fmt.Errorf("%d samples without a kill between them are too few to judge growth by; there were to be %d", len(long), leastSamples)
	}
	fifth := len(long) / 5
	first, last := long[:fifth], long[len(long)-fifth:]
	rss, anon, goroutines := func(s sample) int { return s.rss }, func(s sample) int { return s.anon }, func(s sample) int { return s.goroutines }
	return growth{
		samples: len(long), length: long[len(long)-1].at.Sub(long[0].at),
		rss: median(first, rss), rssLast: median(last, rss),
		anon: median(first, anon), anonLast: median(last, anon),
		goroutines: median(first, goroutines), goroutinesLast: median(last, goroutines),
	}, nil
}

// median of a figure, the lower one of two.
func median(all []sample, figure func(sample) int) int {
	var n []int
	for _, s := range all {
		n = append(n, figure(s))
	}
	slices.Sort(n)
	return n[(len(n)-1)/2]
}

// judge returns an error if memory or goroutines grew by more than the ratio.
func (g growth) judge(ratio float64) error {
	over := func(what string, first, last int) error {
		if float64(last) <= ratio*float64(first) {
			return nil
		}
		return fmt.Errorf("%s of both nodefence-local grew %.2f times within %s, from %d to %d; at most %g times was allowed (SOAK_GROWTH)",
			what, float64(last)/float64(max(first, 1)), g.length.Round(time.Second), first, last, ratio)
	}
	return errors.Join(over("the resident memory (MB)", g.rss>>20, g.rssLast>>20),
		over("the anonymous memory (MB)", g.anon>>20, g.anonLast>>20), over("the number of goroutines", g.goroutines, g.goroutinesLast))
}
