package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// run is one run of the soak.
type run struct {
	settings
	c     *rig.Cluster
	dir   string
	plane *os.Process
	pair  *pair
	watch *watch
	plan  []fault
	// room has a place for each node that may be unwell at once; free has one for each node.
	room chan struct{}
	free []chan struct{}
	// still keeps the control plane from being stopped twice, and processes from being killed twice.
	still, killing sync.Mutex

	mu      sync.Mutex
	begun   time.Time
	thrown  map[kind]int
	late    int
	bmcs    map[string]int
	spoiled map[string][]span
	alive   map[string][]span
	samples []sample
}

// newRun is ready to begin.
func newRun(c *rig.Cluster, s settings, dir string, plane *os.Process, p *pair) *run {
	r := &run{
		settings: s, c: c, dir: dir, plane: plane, pair: p, watch: newWatch(c, s.concurrent), plan: planOf(s),
		begun: time.Now(), room: make(chan struct{}, s.most), thrown: map[kind]int{}, bmcs: map[string]int{}, spoiled: map[string][]span{}, alive: map[string][]span{},
	}
	for range s.nodes {
		r.free = append(r.free, make(chan struct{}, 1))
	}
	return r
}

// name of a node by its number.
func name(i int) string { return fmt.Sprintf("node-%d", i) }

// run throws the faults, checks, and prints the summary, also where something was wrong.
func (r *run) run(ctx context.Context) error {
	within, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	for _, what := range []func(context.Context) error{r.watch.run, r.sample, r.progress} {
		beside.Go(func() {
			if err := what(within); err != nil {
				cancel(err)
			}
		})
	}
	r.throw(within, cancel)
	if within.Err() == nil {
		cancel(r.after(within)) // nil counts as Canceled
	}
	beside.Wait()
	err := context.Cause(within)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("ended before its time: %w", context.Cause(ctx))
	case err == context.Canceled:
		err = nil
	}
	r.summary(err)
	if err != nil {
		err = errors.Join(err, r.keep())
	}
	return err
}

// throw begins each fault at its time, and returns when all are over or ctx ends.
func (r *run) throw(ctx context.Context, cancel context.CancelCauseFunc) {
	var all sync.WaitGroup
	for _, f := range r.plan {
		if !wait(ctx, time.Until(r.begun.Add(f.at))) {
			break
		}
		all.Go(func() {
			if err := r.one(ctx, f); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", f, err))
			}
		})
	}
	all.Wait()
}

// one has one fault happen, and waits until it is over.
func (r *run) one(ctx context.Context, f fault) error {
	switch f.kind {
	case kill:
		r.killing.Lock()
		defer r.killing.Unlock()
		r.count(f)
		return r.pair.kill(ctx, f.processes, f.hold)
	case pause:
		r.still.Lock()
		defer r.still.Unlock()
		r.count(f)
		return standStill(ctx, r.plane, f.hold)
	}
	places := []chan struct{}{r.free[f.node]}
	if f.unwell() {
		places = append(places, r.room)
	}
	for _, place := range places {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
		case <-ctx.Done():
			return nil
		}
	}
	if time.Since(r.begun) > r.length {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.late++
		return nil
	}
	return r.strike(ctx, f)
}

// count counts a fault that begins.
func (r *run) count(f fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.thrown[f.kind]++
	if f.bmc != "" {
		r.bmcs[f.bmc]++
	}
}

// harmless are the faults of a BMC under which each cut is still one Off.
var harmless = []string{"early=3s", "conflict-when-off"}

// strike has a node fail, mends it, and waits until it is well.
func (r *run) strike(ctx context.Context, f fault) (err error) {
	node, began := name(f.node), time.Now()
	before := r.watch.number(node)
	r.count(f)
	var bmc sync.WaitGroup
	var bmcErr error
	if f.bmc != "" {
		if err := r.c.Lab.Fault(node, f.bmc); err != nil {
			return err
		}
		bmc.Go(func() {
			wait(ctx, f.bmcHold)
			bmcErr = r.c.Lab.Fault(node, "none")
			if r.mu.Lock(); !slices.Contains(harmless, f.bmc) {
				r.spoiled[node] = append(r.spoiled[node], span{began, time.Now()})
			}
			r.mu.Unlock()
		})
	}
	err = r.fail(ctx, f, node, before)
	bmc.Wait()
	if err = errors.Join(err, bmcErr); err != nil || ctx.Err() != nil {
		return err
	}
	if err := r.well(ctx, node, time.Now()); err != nil {
		return err
	}
	if f.kind == leaseStop {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.alive[node] = append(r.alive[node], span{began, time.Now()})
	}
	return nil
}

// mends are the verbs that end a fault of a node.
var mends = map[kind]string{powerLoss: "power-on", partition: "heal", flap: "heal", leaseStop: "lease-resume"}

// fail has a node fail and mends it. A crash is mended by nodefence; the power of a machine
// returns once nodefence has released its work.
func (r *run) fail(ctx context.Context, f fault, node string, before int64) error {
	if f.kind == bmcAlone {
		return nil
	}
	if err := r.c.Lab.Node(node, string(f.kind)); err != nil {
		return err
	}
	switch f.kind {
	case crash:
		return r.until(ctx, node, "its machine was to be fenced, switched on again, and given back", func() bool {
			rec := r.watch.fence(node)
			return rec != nil && rec.Status.FenceNumber > before && rec.Status.Phase == api.Finished
		})
	case powerLoss:
		err := r.until(ctx, node, "its machine, which has no power, was to be proven off and its work released", func() bool {
			rec := r.watch.fence(node)
			return rec != nil && rec.Status.FenceNumber > before && rec.Status.Phase == api.Fenced
		})
		if err != nil {
			return err
		}
	default:
		wait(ctx, f.hold)
	}
	if verb := mends[f.kind]; verb != "" {
		return r.c.Lab.Node(node, verb)
	}
	return nil
}

// until waits for something about a node, for as long as a fence may take.
func (r *run) until(ctx context.Context, node, what string, met func() bool) error {
	limited, cancel := context.WithTimeout(ctx, r.settle)
	defer cancel()
	if err := rig.Until(limited, what, func() (bool, error) { return met(), nil }); err == nil || ctx.Err() != nil {
		return nil
	}
	is := "it has no fence"
	if f := r.watch.fence(node); f != nil {
		is = fmt.Sprintf("its fence %d is in %s: %s: %s\n%s", f.Status.FenceNumber, f.Status.Phase, f.Status.Reason, f.Status.Message, rig.Story(f))
	}
	return breach(fmt.Sprintf("%s: %s within %s; %s", node, what, r.settle, is))
}

// well waits until a node is.
func (r *run) well(ctx context.Context, node string, after time.Time) error {
	why := ""
	err := r.until(ctx, node, "it was to be Ready, schedulable, unmarked and its fence closed", func() bool {
		why = r.watch.ailing(node, after)
		return why == ""
	})
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", node, why, err)
	}
	return err
}
