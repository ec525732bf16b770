package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/test/rig"
)

const stormPolicy = `
power: {offTimeout: 1m, retryInterval: 1s}
recovery: {bootTimeout: 5m, readyDuration: 1s}
limits: {maxUnhealthy: "40%", maxConcurrent: 1, stormCoolDown: 2s}
`

// TestStorm: five of ten nodes die at once, and four are allowed. So no device is touched. After
// two come back, the other three are fenced, one at a time, by four gates that get the same events
// (S14: the limits hold under every interleaving, S15: a storm is seen as one).
func TestStorm(t *testing.T) {
	w := newWorld(t, 10, stormPolicy)
	p := w.start(nil)
	dead := []string{"node-0", "node-1", "node-2", "node-3", "node-4"}
	w.allAtOnce(dead, "partition")
	for _, n := range dead {
		w.until("the storm to be named for "+n, func() (bool, error) {
			f, err := w.Fences.Fence(w.ctx, n)
			return f != nil && f.Status.Reason == api.TooManyUnhealthy &&
				strings.Contains(f.Status.Message, "5 of 10 nodes are unhealthy, maxUnhealthy is 40% (4)"), err
		})
	}
	stop := w.fourGates(p, dead)
	for _, n := range dead {
		w.words(n, "")
	}
	w.allAtOnce(dead[:2], "heal")
	for _, n := range dead[:2] {
		if f := w.phase(n, api.Finished); f.Status.Outcome != api.HealedBeforeFence {
			t.Errorf("%s ended as %s", n, f.Status.Outcome)
		}
	}
	for _, n := range dead[2:] {
		w.phase(n, api.Recovering)
		w.words(n, "off on")
		w.node(n, "heal")
	}
	stop()
	for _, n := range dead[2:] {
		w.phase(n, api.Finished)
		w.words(n, "off on")
	}
	for _, n := range dead[:2] {
		w.words(n, "")
	}
	w.atMost(1, dead[2:])
}

func (w *world) allAtOnce(nodes []string, verb string) {
	w.t.Helper()
	must(w.t, w.Lab.AtOnce(nodes, verb))
}

// fourGates hands each node's fence to four gates at the same moment, repeatedly, until it is
// stopped.
func (w *world) fourGates(p *rig.InProcess, nodes []string) (stop func()) {
	w.t.Helper()
	var gates []run.Handler
	for range 4 {
		parts, err := functions.NewParts(w.ctx, rig.Settings(), rest.CopyConfig(w.Config), quiet(), freshRegistry())
		must(w.t, err)
		gates = append(gates, functions.Handlers(parts)["gate"])
	}
	ctx, cancel := context.WithCancel(w.ctx)
	var wg sync.WaitGroup
	for i, gate := range gates {
		wg.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ctx.Err() == nil; n++ {
				for _, node := range nodes {
					e := events.SourceOf("storm").Condition(events.ConditionChange{
						Node: node, Condition: "Ready", Status: "Unknown", Unhealthy: true,
					}, time.Time{}, time.Now())
					e.SetID(fmt.Sprintf("storm-%d-%d-%s", i, n, node))
					reply, err := gate(ctx, e)
					if err == nil && reply != nil {
						_ = p.Broker.Publish(ctx, *reply)
					}
				}
				<-tick.C
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// atMost checks, from the BMCs' logs and the records, that there were never more than this many
// nodes between power-off and release.
func (w *world) atMost(most int, nodes []string) {
	w.t.Helper()
	type span struct {
		node     string
		from, to time.Time
	}
	var spans []span
	for _, n := range nodes {
		cmds, err := w.Lab.Commands(n)
		must(w.t, err)
		f, err := w.Fences.Fence(w.ctx, n)
		must(w.t, err)
		spans = append(spans, span{n, cmds[0].Time, f.Status.Release.DoneAt.Time})
	}
	for _, a := range spans {
		running := 0
		for _, b := range spans {
			if !a.from.Before(b.from) && a.from.Before(b.to) {
				running++
			}
		}
		if running > most {
			w.t.Errorf("when %s was cut %d fences were running, allowed are %d: %v", a.node, running, most, spans)
		}
	}
}

// TestPausedAndStopped: under a pause or a stop no fence starts. Held fences continue afterwards.
func TestPausedAndStopped(t *testing.T) { // S25, S27
	w := newWorld(t, 3, quick+"pauseRequests: [me]\n")
	w.start(nil)
	w.node("node-1", "crash")
	w.unready("node-1")
	w.held("node-1", api.Paused)
	must(t, w.Apply(w.ctx, "apiVersion: nodefence.io/v1alpha1\nkind: FenceLedger\nmetadata: {name: cluster}\nspec: {stop: true}\n"))
	must(t, w.Apply(w.ctx, rig.Policy("default", quick)))
	w.held("node-1", api.Stopped)
	w.words("node-1", "")
	must(t, w.Apply(w.ctx, "apiVersion: nodefence.io/v1alpha1\nkind: FenceLedger\nmetadata: {name: cluster}\nspec: {stop: false}\n"))
	w.phase("node-1", api.Finished)
	w.words("node-1", "off on")
}

// held waits until a fence is held with this reason, and returns the record of that moment: the
// next look may give another reason.
func (w *world) held(node string, why api.Reason) (f *api.NodeFence) {
	w.t.Helper()
	w.until(node+" to be held: "+string(why), func() (bool, error) {
		var err error
		f, err = w.Fences.Fence(w.ctx, node)
		return f != nil && f.Status.Reason == why, err
	})
	return f
}
