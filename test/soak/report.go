package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// progressEvery is how often a line of progress is printed, and the writers are looked at.
const progressEvery = time.Minute

// progress prints a line each minute until ctx ends, and returns what is wrong with the writers.
func (r *run) progress(ctx context.Context) error {
	for wait(ctx, progressEvery) {
		fmt.Println(r.line())
		if err := r.oneWriter(); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// line is how the run stands.
func (r *run) line() string {
	open, closed := 0, 0
	for _, w := range r.watch.windows() {
		if w.closed.IsZero() {
			open++
		} else {
			closed++
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := "not measured yet"
	if n := len(r.samples); n > 0 {
		last = fmt.Sprintf("%d MB, %d goroutines", r.samples[n-1].rss>>20, r.samples[n-1].goroutines)
	}
	return fmt.Sprintf("%s  faults: %s  fences: %d open, %d closed  both nodefence-local: %s",
		time.Since(r.begun).Round(time.Second), counts(r.thrown), open, closed, last)
}

// counts are numbers by kind, in the order of the kinds.
func counts(of map[kind]int) string {
	var words []string
	for _, k := range kinds {
		if of[k] > 0 {
			words = append(words, fmt.Sprintf("%s %d", k, of[k]))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// byName are numbers by name, in the order of the names.
func byName[K ~string](of map[K]int) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		words = append(words, fmt.Sprintf("%s %d", k, of[k]))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// summary prints what the run came to, and what was checked.
func (r *run) summary(breach error) {
	outcomes, took, open := r.fences()
	g, err := grown(r.steady())
	waited, slots, full, looks := r.watch.waits()
	r.mu.Lock()
	defer r.mu.Unlock()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", what, fmt.Sprintf(format, args...)) }
	fmt.Printf("\nsoak of %d nodes for %s, SOAK_SEED=%d\n", r.nodes, r.length, r.seed)
	row("faults", "%s", counts(r.thrown))
	row("of BMCs", "%s", byName(r.bmcs))
	row("not begun in time", "%d of %d planned", r.late, len(r.plan))
	row("fences", "%d opened, %d ended: %s", len(took)+open, len(took), byName(outcomes))
	row("from opening to closed", "p50 %s, p95 %s, max %s", at(took, 50), at(took, 95), at(took, 100))
	row("between yes and release", "at most %d, maxConcurrent %d; full in %d of %d looks", slots, r.concurrent, full, looks)
	row("fences that were held", "%s", byName(waited))
	if err != nil {
		row("growth", "not judged: %v", err)
	} else {
		row("resident, both", "%d MB, and %d MB after %s; anonymous %d MB, and %d MB", g.rss>>20, g.rssLast>>20, g.length.Round(time.Second), g.anon>>20, g.anonLast>>20)
		row("goroutines, both", "%d, and %d (%d samples)", g.goroutines, g.goroutinesLast, g.samples)
	}
	row("errors in the logs", "%s", byName(r.errors()))
	verdict := "every fence ended and every node is well; the BMCs' logs, one writer a volume, maxConcurrent, pods, growth, panics"
	if breach != nil {
		verdict = "NOT all is well, see below"
	}
	row("checked", "%s", verdict)
	_ = w.Flush()
}

// fences are the outcomes of those that ended, how long they took, and how many are open.
func (r *run) fences() (outcomes map[string]int, took []time.Duration, open int) {
	outcomes = map[string]int{}
	for _, w := range r.watch.windows() {
		if w.closed.IsZero() {
			open++
			continue
		}
		outcomes[string(w.outcome)]++
		took = append(took, w.closed.Sub(w.opened))
	}
	slices.Sort(took)
	return outcomes, took, open
}

// at is the nearest rank of sorted times.
func at(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)].Round(100 * time.Millisecond)
}

// holds are the reasons that are counted: limits, and pictures that nothing is decided on.
var holds = []api.Reason{api.TooManyConcurrent, api.TooManyUnhealthy, api.StormCoolDown, api.MostLeasesStale, api.LeasePictureOld, api.DeviceDenied, api.WaitingForDevice, api.FlowRestarted}

// waits are how many fences were held for which reason, and how full the slots were.
func (w *watch) waits() (held map[api.Reason]int, slots, full, looks int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held = map[api.Reason]int{}
	for _, reason := range holds {
		if n := len(w.held[reason]); n > 0 {
			held[reason] = n
		}
	}
	return held, w.slots, w.full, w.looks
}

// errors counts the lines of the logs that are errors, by their message.
func (r *run) errors() map[string]int {
	n := map[string]int{}
	for i := range r.pair.all {
		_ = eachLine(r.pair.all[i].log.Name(), func(text string) error {
			var line struct{ Level, Msg string }
			if json.Unmarshal([]byte(text), &line) == nil && line.Level == "ERROR" {
				n[line.Msg]++
			}
			return nil
		})
	}
	return n
}
