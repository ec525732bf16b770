package knative

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nodefence/nodefence/test/e2e/knative/plane"
)

// samples are enough for a 95th percentile that a single stall doesn't make.
const samples = 300

// TestMeasure prints how long an event takes from being posted to its subscriber
// and what Knative's programs need. It asserts no time: machines differ.
func TestMeasure(t *testing.T) {
	w := newWorld(t)
	must(t, w.Apply(w.ctx, try))
	first := newSink(t, nil)
	must(t, w.Stand(w.ctx, "try", "first", first.addr()))
	must(t, w.Stand(w.ctx, "try", "dead", first.addr()))
	must(t, w.Apply(w.ctx, trigger("first", "try.asked")))
	w.ready(brokers, "try", 1)
	w.ready(triggers, "try", 1)
	w.through("try", "b", "try.asked", first)

	posted := map[string]time.Time{}
	for i := range samples {
		id := fmt.Sprint("m", i)
		posted[id] = time.Now()
		must(t, w.send("try", "b", plain(id, "try.asked", "node-1", `{"n":1}`)))
	}
	w.until("all events to arrive", func() (bool, error) { return len(first.ids()) == samples, nil })
	var took []time.Duration
	for id, at := range posted {
		took = append(took, first.find(id).At.Sub(at))
	}
	slices.Sort(took)
	t.Logf("POST to subscriber, one event at a time, %d events: p50 %s, p95 %s, p99 %s", samples,
		round(took[samples/2]), round(took[samples*95/100]), round(took[samples*99/100]))

	memory, err := w.Memory()
	must(t, err)
	var sum int64
	for _, name := range []string{plane.Controller, plane.Brokers, plane.Channels, plane.Ingress, plane.Filter, plane.Dispatcher} {
		if memory[name] == 0 {
			t.Errorf("%s needs no memory: it was not looked at", name)
		}
		sum += memory[name]
		t.Logf("%-20s %4d MiB", name, memory[name]>>20)
	}
	t.Logf("%-20s %4d MiB", "all six", sum>>20)
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
