package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// quantile is the smallest of d that so large a share of d does not exceed (nearest rank).
func quantile(d []time.Duration, share float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	rank := int(math.Ceil(share * float64(len(d))))
	return d[min(max(rank, 1), len(d))-1]
}

func ms(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64) }

// quantiles are n, p50, p95 and max in ms.
func quantiles(d []time.Duration) string {
	if len(d) == 0 {
		return "n 0"
	}
	return fmt.Sprintf("n %d, p50 %s ms, p95 %s ms, max %s ms", len(d), ms(quantile(d, .5)), ms(quantile(d, .95)), ms(slices.Max(d)))
}

// under is how many of them were shorter than a time.
func under(d []time.Duration, limit time.Duration) string {
	n := 0
	for _, one := range d {
		if one < limit {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(d))
}

// roundTrips are the quantiles in multiples of one round trip.
func roundTrips(d []time.Duration, one time.Duration) string {
	if one <= 0 || len(d) == 0 {
		return "no round trip was measured"
	}
	times := func(d time.Duration) string { return strconv.FormatFloat(float64(d)/float64(one), 'f', 1, 64) }
	return fmt.Sprintf("p50 %s, p95 %s, max %s round trips", times(quantile(d, .5)), times(quantile(d, .95)), times(slices.Max(d)))
}

// numbers reads the whole numbers of a setting, all of them between least and most. What is
// wrong with any of them is said before anything is measured.
func numbers(setting, text string, least, most int) ([]int, error) {
	var all []int
	for _, word := range strings.Fields(text) {
		n, err := strconv.Atoi(word)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s has %q: write whole numbers from %d to %d, with blanks between them", setting, word, least, most)
		case n < least || n > most:
			return nil, fmt.Errorf("%s has %d: write numbers from %d to %d", setting, n, least, most)
		case slices.Contains(all, n):
			return nil, fmt.Errorf("%s has %d twice: write each number once", setting, n)
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s is empty: write whole numbers from %d to %d, or leave it out", setting, least, most)
	}
	return all, nil
}

// setTo is a setting's text, or another one where the setting is left out.
func setTo(lookup func(string) (string, bool), setting, otherwise string) string {
	if text, set := lookup(setting); set {
		return text
	}
	return otherwise
}

// one reads a setting that is a single number.
func one(lookup func(string) (string, bool), setting string, otherwise, least, most int) (int, error) {
	all, err := numbers(setting, setTo(lookup, setting, strconv.Itoa(otherwise)), least, most)
	if err == nil && len(all) > 1 {
		err = fmt.Errorf("%s has %d numbers: write one", setting, len(all))
	}
	if err != nil {
		return 0, err
	}
	return all[0], nil
}

// long reads a setting that is a time.
func long(lookup func(string) (string, bool), setting string, otherwise, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(setTo(lookup, setting, otherwise.String()))
	if err != nil || d < least || d > most {
		return 0, fmt.Errorf("%s has %q: write a time from %s to %s, such as %s", setting, setTo(lookup, setting, ""), least, most, otherwise)
	}
	return d, nil
}
