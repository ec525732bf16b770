package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const earlyPolicy = `
earlyProbe: {leaseStillDuration: 12s}
recovery: {readyDuration: 0s}
limits: {maxUnhealthy: "50%", maxConcurrent: 5, stormCoolDown: 0s}
`

const (
	// alive are the machines whose Lease stands still all the time, with their
	// power on.
	alive = 4
	// stagger lies between two power losses: not a whole number of renewals, so
	// that they fall on every moment between two renewals.
	stagger = 7300 * time.Millisecond
)

// measureEarly measures, on Kubernetes' default timings, from power loss to the
// pod's running elsewhere.
func measureEarly(ctx context.Context) (err error) {
	c, err := world(ctx, fences+alive, "--lease", "10s", "--grace", "50s")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	pods, idle, err := c.spread(ctx, alive, earlyPolicy, "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}}]}}")
	if err != nil {
		return err
	}
	p, err := c.Start(ctx, c.dir, io.Discard, nil)
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := p.Watching(ctx); err != nil {
		return err
	}
	for _, node := range idle {
		if err := c.Lab.Node(node, "lease-stop"); err != nil {
			return err
		}
	}
	began := time.Now()
	e := early{c: c.Cluster, off: map[string]bool{}}
	if err := e.loseAll(ctx, pods); err != nil {
		return err
	}
	stood := time.Since(began)
	if err := e.spared(ctx, idle); err != nil {
		return err
	}
	fmt.Printf("early probes, Lease 10 s, grace 50 s: %d power losses in %d nodes, one each %s; no power command in any of them\n", len(pods), fences+alive, stagger)
	show("power loss → fence opened", e.opened)
	show("power loss → proven off", e.proven)
	show("proven off → pod runs elsewhere", e.moved)
	show("power loss → pod runs elsewhere", e.runs)
	show("  of these, placed on a living machine at once", e.once)
	fmt.Printf("%d pods were placed first on a machine that had lost its power, which nobody knew yet, and moved twice\n", len(e.runs)-len(e.once))
	fmt.Printf("%d machines alive with a still Lease for %s: no command, no mark\n", len(idle), stood.Round(time.Second))
	return nil
}

// spread runs pods on different nodes, by a line of the pod template. It returns the pod of each node, and the nodes
// without a pod, whose number must be wantIdle.
func (c *bench) spread(ctx context.Context, wantIdle int, policy, apart string) (pods map[string]string, idle []string, err error) {
	machines, err := c.Lab.Machines()
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(c.Bind(ctx, machines), c.Apply(ctx, rig.Policy("default", policy)),
		c.Apply(ctx, strings.Replace(rig.StatefulSet("db", fences), "      containers:", "      "+apart+"\n      containers:", 1))); err != nil {
		return nil, nil, err
	}
	pods = map[string]string{}
	for i := range fences {
		pod := fmt.Sprintf("db-%d", i)
		node, err := c.PodRunning(ctx, pod, "")
		if err != nil {
			return nil, nil, err
		}
		pods[node] = pod
	}
	for node := range machines {
		if pods[node] == "" {
			idle = append(idle, node)
		}
	}
	if len(pods) != fences || len(idle) != wantIdle {
		return nil, nil, fmt.Errorf("the pods run on %d nodes, want %d; %d nodes have no pod, want %d", len(pods), fences, len(idle), wantIdle)
	}
	return pods, idle, nil
}

// early collects what was measured.
type early struct {
	c              *rig.Cluster
	mu             sync.Mutex
	opened, proven []time.Duration
	moved, runs    []time.Duration
	// once are those of runs whose pod was not placed on a machine in off first.
	once   []time.Duration
	off    map[string]bool
	failed error
}

func (e *early) loseAll(ctx context.Context, pods map[string]string) error {
	tick := time.NewTicker(stagger)
	defer tick.Stop()
	var wg sync.WaitGroup
	for node, pod := range pods {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		wg.Go(func() {
			if err := e.lose(ctx, node, pod); err != nil {
				e.mu.Lock()
				e.failed = errors.Join(e.failed, fmt.Errorf("%s: %w", node, err))
				e.mu.Unlock()
			}
		})
	}
	wg.Wait()
	return e.failed
}

// lose takes one machine's power, and gives it back once its pod runs elsewhere.
func (e *early) lose(ctx context.Context, node, pod string) error {
	struck := time.Now()
	if err := e.c.Lab.Node(node, "power-loss"); err != nil {
		return err
	}
	e.lost(node, true)
	twice, err := e.runsElsewhere(ctx, pod, node)
	if err != nil {
		return err
	}
	ran := time.Since(struck)
	f, err := e.c.Phase(ctx, node, api.Fenced)
	if err != nil {
		return err
	}
	if !f.Status.Decision.Trigger.Suspicion() {
		return fmt.Errorf("its fence was opened for %s", f.Status.Decision.Trigger.Type)
	}
	e.mu.Lock()
	e.runs = append(e.runs, ran)
	if !twice {
		e.once = append(e.once, ran)
	}
	e.moved = append(e.moved, ran-f.Status.Proof.At.Sub(struck))
	e.opened = append(e.opened, f.Status.OpenedAt.Sub(struck))
	e.proven = append(e.proven, f.Status.Proof.At.Sub(struck))
	e.mu.Unlock()
	if err := e.c.Lab.Node(node, "power-on"); err != nil {
		return err
	}
	e.lost(node, false)
	if _, err := e.c.Phase(ctx, node, api.Finished); err != nil {
		return err
	}
	words, err := e.c.Lab.Words(node)
	if err == nil && words != "" {
		err = fmt.Errorf("its BMC was told %q", words)
	}
	return err
}

func (e *early) lost(node string, off bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.off[node] = off
}

// runsElsewhere waits for the pod, and tells whether it was placed on a machine
// without power first: for some 20 s after a loss the scheduler can't know.
func (e *early) runsElsewhere(ctx context.Context, pod, from string) (twice bool, err error) {
	err = rig.Until(ctx, "pod "+pod+" to run", func() (bool, error) {
		p := e.c.Pod(ctx, pod)
		if p == nil || p.Spec.NodeName == "" || p.Spec.NodeName == from {
			return false, nil
		}
		e.mu.Lock()
		off := e.off[p.Spec.NodeName]
		e.mu.Unlock()
		running := rig.Running(p)
		twice = twice || off && !running
		return running, nil
	})
	return twice, err
}

// spared checks that the machines that are alive were held, and not touched.
func (e *early) spared(ctx context.Context, nodes []string) error {
	for _, node := range nodes {
		f, err := e.c.Fences.Fence(ctx, node)
		if err != nil {
			return err
		}
		if f == nil || !f.Status.Decision.Trigger.Suspicion() || f.Status.Placed != (api.Placed{}) {
			return fmt.Errorf("%s should be suspected, and not marked: %+v", node, f)
		}
		for _, h := range f.Status.History {
			if h.Phase == api.Isolating || h.Phase == api.Releasing {
				return fmt.Errorf("%s is alive, and came to %s:\n%s", node, h.Phase, rig.Story(f))
			}
		}
		words, err := e.c.Lab.Words(node)
		if err != nil {
			return err
		}
		if words != "" {
			return fmt.Errorf("%s is alive, and its BMC was told %q", node, words)
		}
	}
	return nil
}
