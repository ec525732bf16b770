package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// burstPolicy lets all that fail be fenced at once, so that nothing but work holds them.
const burstPolicy = `
recovery: {readyDuration: 0s}
limits: {maxUnhealthy: "60%%", maxConcurrent: %d, stormCoolDown: 0s}
`

// wave is how many nodes of a cluster fail at once, and how many are fenced at a time.
type wave struct{ failed, nodes, most int }

// waves reads what BURST names: 10/20, or 100/500@10 for at most ten at a time. What is wrong is
// said before the first lab is built.
func waves(text string) (all []wave, err error) {
	for _, word := range strings.Fields(text) {
		var w wave
		sizes, most, limited := strings.Cut(word, "@")
		n, err := fmt.Sscanf(sizes, "%d/%d", &w.failed, &w.nodes)
		if err != nil || n != 2 || w.failed < 1 || w.failed > w.nodes || fmt.Sprintf("%d/%d", w.failed, w.nodes) != sizes {
			return nil, fmt.Errorf("BURST has %q: write how many of how many nodes fail, such as 10/20, or 100/500@10 for ten at a time", word)
		}
		w.most = w.failed
		if limited {
			if w.most, err = strconv.Atoi(most); err != nil || w.most < 1 || w.most > w.failed {
				return nil, fmt.Errorf("BURST has %q: write after @ how many are fenced at a time, from 1 to %d", word, w.failed)
			}
		}
		all = append(all, w)
	}
	return all, nil
}

// measureBurst has many nodes of a cluster fail at once, and says how long it takes until the
// last of them is off and what that asks of the API server: for each failed/nodes that BURST
// names (BURST="10/20 100/500"), or for two.
func measureBurst(ctx context.Context) error {
	sizes := os.Getenv("BURST")
	if sizes == "" {
		sizes = "10/20 100/500"
	}
	all, err := waves(sizes)
	for i := range all {
		err = errors.Join(err, burst(ctx, all[i]))
	}
	return err
}

func burst(ctx context.Context, b wave) (err error) {
	c, err := world(ctx, b.nodes, "--lease", "10s", "--grace", "50s")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	machines, err := c.Lab.Machines()
	if err == nil {
		err = errors.Join(c.Bind(ctx, machines), c.Apply(ctx, rig.Policy("default", fmt.Sprintf(burstPolicy, b.most))))
	}
	if err != nil {
		return err
	}
	count, ledger, log := &requests{n: map[asked]int{}}, &ledgerWrites{}, &failures{}
	p, err := c.Start(ctx, c.dir, log, func(o *local.Options) {
		o.Config.Wrap(count.wrap)
		o.Config.Wrap(ledger.wrap)
	})
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := settled(ctx, c.Cluster, b.nodes); err != nil {
		return err
	}
	all := &off{c: c.Cluster, told: map[string]time.Time{}, nodes: slices.Sorted(maps.Keys(machines))[:b.failed]}
	count.take()
	ledger.take()
	if err := all.wait(ctx); err != nil {
		return err
	}
	n, lost := count.take(), log.count()
	written, conflicts, writes := ledger.take()
	if err := all.print(b.nodes); err != nil {
		return err
	}
	beyond := all.printSlots(ctx, b.most)
	if err := all.printTrace(ctx, writes); err != nil {
		return errors.Join(beyond, err)
	}
	fmt.Printf("until then: %d writes of the ledger, %d of them conflicts; %d deliveries failed and came again\n", written, conflicts, lost)
	for _, verb := range []string{"GET", "LIST", "POST", "PUT", "PATCH", "DELETE"} {
		is := func(a asked) bool { return functions(a) && a.verb == verb }
		fmt.Printf("API requests per Off, %-6s %.1f\n", verb, float64(sum(n, is))/float64(b.failed))
	}
	table(n)
	return beyond
}

// off are the machines that fail, and are to be off.
type off struct {
	c     *rig.Cluster
	nodes []string
	// opened is when the first fence was, told when each machine was told Off, and after how long
	// that was.
	opened time.Time
	told   map[string]time.Time
	after  []time.Duration
}

// wait has them crash, and returns when each was told Off.
func (o *off) wait(ctx context.Context) error {
	for _, node := range o.nodes {
		if err := o.c.Lab.Node(node, "crash"); err != nil {
			return err
		}
	}
	polls := 0
	return rig.Until(ctx, fmt.Sprintf("%d machines to be off", len(o.nodes)), func() (bool, error) {
		if polls++; polls%20 != 0 { // of ten a second, so that looking costs little
			return false, nil
		}
		fences, err := o.c.Fences.Fences(ctx)
		n := 0
		for i := range fences {
			if slices.Contains(o.nodes, fences[i].Spec.NodeName) && wasCut(&fences[i]) {
				n++
			}
		}
		return err == nil && n >= len(o.nodes), nil
	})
}

// wasCut: the Off was sent, in this fence or in one before. Its own time is forgotten once the
// machine is healthy again, which may be before the last Off of a burst.
func wasCut(f *api.NodeFence) bool {
	return f.Status.Power.CutAt != nil || slices.ContainsFunc(f.Status.Past, func(p api.PastFence) bool { return p.Cuts > 0 })
}

// print says when they were told, by their BMCs' own clocks.
func (o *off) print(nodes int) error {
	fences, err := o.c.Fences.Fences(context.Background())
	if err != nil {
		return err
	}
	for i := range fences {
		if at := fences[i].Status.OpenedAt; at != nil && (o.opened.IsZero() || at.Time.Before(o.opened)) {
			o.opened = at.Time
		}
	}
	for _, node := range o.nodes {
		told, err := o.c.Lab.Commands(node)
		if err != nil {
			return err
		}
		if len(told) == 0 {
			return fmt.Errorf("%s was told nothing", node)
		}
		o.told[node] = told[0].Time
		o.after = append(o.after, told[0].Time.Sub(o.opened))
	}
	fmt.Printf("%d of %d nodes fail at once\n", len(o.nodes), nodes)
	show("first fence opened → power-off at the BMC", o.after)
	fmt.Printf("first fence opened → last power-off            %.2f s\n", slices.Max(o.after).Seconds())
	return nil
}
