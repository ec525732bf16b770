package model

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nodefence/nodefence/functions/power"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/run"
)

// does takes the first step whose name begins so, if there is one.
func (x *explorer) does(s *state, id string) bool {
	for _, o := range x.options(s) {
		if strings.HasPrefix(o.id, id) {
			o.do(s)
			return true
		}
	}
	return false
}

// A gate stands still between its decision and its save for longer than a decision is valid; by
// then its reservation is gone and another node has the room. What it saves in the end must not
// get a slot by itself.
func TestGateThatStoodStill(t *testing.T) {
	sc := crowd()
	sc.pauses, sc.pause = 1, 65*time.Second
	x := newExplorer(sc)
	defer x.code.close()
	s := x.begin()
	do := func(id string) bool { return x.does(s, id) }
	late := "gate on event node.unhealthy of a"
	do("event node.unhealthy of a")
	for {
		if r := s.procs[0].at.asks; r.path == fences+"a/status" && strings.Contains(string(r.body), `"phase":"Isolating"`) {
			break
		}
		do(late)
	}
	do("stop")
	for do("event node.unhealthy of b") || do("gate on event node.unhealthy of b") {
	}
	do(late) // saved at last
	for do("event node.unhealthy of c") || do("gate on event node.unhealthy of c") {
	}
	for s.watch.broken == "" && (do("event fence.isolating of a") || do("isolate") || do("event fence.pending of a") || do("gate")) {
	}
	if s.watch.broken != "" {
		t.Errorf("broken: %s\n\tbecause %s", s.watch.broken, s.watch.fault)
	}
}

// TestAnOffThatStoodStill: a process has saved its claim of an Off, and stands still before it
// sends it, for longer than the claim. By then another process has taken over. Nothing is sent
// under the claim that is gone (S7: one device call at a time for one node; S8: the time of the
// claim is checked right before the call).
func TestAnOffThatStoodStill(t *testing.T) {
	if s := offThatStoodStill(t, shipped); s.watch.broken != "" {
		t.Errorf("broken: %s\n\tbecause %s", s.watch.broken, s.watch.fault)
	}
	if s := offThatStoodStill(t, sendsLate); s.watch.broken != claimed {
		t.Errorf("a device that is sent an Off without a look at the time is not noticed: %q", s.watch.fault)
	}
}

// offThatStoodStill goes on from there to the end.
func offThatStoodStill(t *testing.T, c code) *state {
	t.Helper()
	x := newExplorer(with(stops(oneDies(0, 1)), c))
	defer x.code.close()
	s := x.begin()
	claim := func() *api.Claim { return s.fence("a").Status.Claim }
	x.does(s, "event node.unhealthy of a")
	x.does(s, "event fence.isolating of a")
	x.does(s, "event fence.fencing of a") // reads
	for x.does(s, "power") {
	}
	x.does(s, "twice event fence.fencing of a")
	for claim() == nil && x.does(s, "power") {
	}
	first := s.procs[0].name()
	if claim() == nil || claim().Call != api.CallOff || s.procs[0].me != claim().Holder {
		t.Fatalf("%s has claimed no Off: %v", first, claim())
	}
	x.does(s, "stop")
	x.does(s, "event fence.fencing of a")
	for len(s.procs) == 2 && (claim() == nil || claim().Holder == s.procs[0].me) {
		if !x.does(s, s.procs[1].name()) {
			break
		}
	}
	if c := claim(); c == nil || c.Holder == s.procs[0].me {
		t.Fatalf("nobody took over from %s: %v", first, c)
	}
	for x.does(s, first) && s.watch.broken == "" {
	}
	for !s.finished(x.until) {
		x.options(s)[0].do(s)
	}
	return s
}

// sendsLate is a power function whose devices are sent an Off or On at whatever time.
func sendsLate(p process, name string) run.Handler {
	if name != power.Name {
		return shipped(p, name)
	}
	c := p.client()
	f := &power.Power{Client: c, Open: func(_ context.Context, b *api.Binding, _ power.Call) (device.Driver, error) {
		return timeless{driver{p, b.Address}}, nil
	}}
	f.Loop = p.loop(c, name, power.Phases, f)
	return f.Handle
}

// timeless is a driver that does not ask whether it is too late.
type timeless struct{ driver }

func (d timeless) Off(context.Context) error { return d.driver.Off(context.Background()) }
func (d timeless) On(context.Context) error  { return d.driver.On(context.Background()) }
