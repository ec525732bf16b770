package policy

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Windows are one policy's present pause windows. Those of every policy that selects the
// node hold, as limits do.
type Windows struct {
	Policy  string
	Windows []api.PauseWindowRule
}

// Zones are time zones by their names in the IANA database, as the caller has loaded them.
// A zone that is not in the map is unknown.
type Zones map[string]*time.Location

// Closure is why no fence begins now.
type Closure struct {
	Why     api.Reason
	Message string
	// Until is when the last of several adjoining windows ends; zero if that can't be told.
	Until time.Time
}

// furthest bounds the search for the end of adjoining windows: longer than any window, and
// longer than a week.
const furthest = 14 * 24 * time.Hour

// Closed returns the pause window that is open at this time of the API server (S30: one
// clock); nil if none is. A window that can't be read holds at all times, because its time
// is unknown.
func Closed(all []Windows, zones Zones, now time.Time) *Closure {
	var read []window
	for _, p := range all {
		for i, w := range p.Windows {
			r, err := readWindow(w, zones)
			if err != nil {
				return &Closure{Why: api.PauseWindowInvalid, Message: fmt.Sprintf("policy %s, pauseWindows[%d]: %s; no fence begins until that is corrected", p.Policy, i, err)}
			}
			r.name = "pause window of policy " + p.Policy
			if w.Reason != "" {
				r.name += " (" + w.Reason + ")"
			}
			read = append(read, r)
		}
	}
	name, until := lastOpen(read, now)
	if name == "" {
		return nil
	}
	for until.Sub(now) < furthest {
		next, later := lastOpen(read, until)
		if next == "" {
			break
		}
		until = later
	}
	return &Closure{Why: api.PauseWindow, Until: until, Message: name + ": no fence begins until " + until.UTC().Format(time.RFC3339)}
}

// lastOpen returns, of the windows that are open at a time, the one that ends last.
func lastOpen(all []window, at time.Time) (name string, until time.Time) {
	for _, w := range all {
		if end := w.openUntil(at); end.After(until) {
			name, until = w.name, end
		}
	}
	return name, until
}

// window is a pause window that was read.
type window struct {
	name  string
	days  []api.Weekday
	clock time.Time
	lasts time.Duration
	zone  *time.Location
}

func readWindow(w api.PauseWindowRule, zones Zones) (window, error) {
	r := window{days: w.Days, lasts: w.Duration.Get(), zone: time.UTC}
	if name := w.TimeZone; name != nil && *name != "" && *name != "UTC" {
		if r.zone = zones[*name]; r.zone == nil {
			return r, fmt.Errorf("time zone %q is not known: use a name of the IANA database, such as Europe/Berlin", *name)
		}
	}
	var err error
	if r.clock, err = time.Parse("15:04", w.Start); err != nil {
		return r, fmt.Errorf("start %q is no time of day: write HH:MM", w.Start)
	}
	return r, nil
}

// NextWindow is when the next of these windows begins, in the next two weeks; zero if none
// does.
func NextWindow(all []api.PauseWindowRule, zones Zones, now time.Time) (next time.Time) {
	for _, w := range all {
		r, err := readWindow(w, zones)
		if err != nil {
			continue
		}
		today := now.In(r.zone)
		for day := range 15 {
			for _, start := range r.startsOn(today, day) {
				if start.After(now) && (next.IsZero() || start.Before(next)) {
					next = start
				}
			}
		}
	}
	return next
}

// startsOn returns the times at which the window begins, so many days after a day.
func (w window) startsOn(today time.Time, day int) []time.Time {
	// The calendar's date and the local time of day, written as if they were in UTC.
	wall := time.Date(today.Year(), today.Month(), today.Day()+day, w.clock.Hour(), w.clock.Minute(), 0, 0, time.UTC)
	if len(w.days) > 0 && !slices.Contains(w.days, api.Weekday(wall.Weekday().String())) {
		return nil
	}
	return moments(wall, w.zone)
}

// openUntil is when the window that is open at a time ends; zero if it is not open. The
// window includes its start and not its end.
func (w window) openUntil(at time.Time) (until time.Time) {
	today := at.In(w.zone)
	// One day more on either side, for changes of the clock.
	for day := -2 - int(w.lasts.Hours()/24); day <= 1; day++ {
		for _, start := range w.startsOn(today, day) {
			if end := start.Add(w.lasts); !at.Before(start) && end.After(at) && end.After(until) {
				until = end
			}
		}
	}
	return until
}

// moments returns the times at which clocks in a zone show this time of day. That is
// usually one time, and two if the clocks are set back over it. If the clocks are set
// forward over it, it is the time at which they are set.
func moments(wall time.Time, zone *time.Location) []time.Time {
	var all []time.Time
	earliest := wall.Add(furthest)
	for _, aside := range []time.Duration{-26 * time.Hour, 26 * time.Hour} { // no zone is further from UTC
		_, offset := wall.Add(aside).In(zone).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second)
		if t.Before(earliest) {
			earliest = t
		}
		if _, there := t.In(zone).Zone(); there == offset && !slices.ContainsFunc(all, t.Equal) {
			all = append(all, t)
		}
	}
	if len(all) > 0 {
		return all
	}
	_, change := earliest.In(zone).ZoneBounds()
	return []time.Time{change}
}
