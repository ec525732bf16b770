package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions/policystatus"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/test/rig"
)

const (
	// prunedTo is the bound by count.
	prunedTo = 4000
	// passApart is the time between two passes over the trail, and mostPasses how many there are until the bound is
	// reached or missed.
	passApart, mostPasses = 10 * time.Minute, 60
)

// measurePruning has function policystatus bound the trail, by count and then by age, under a clock of its own. cut is
// a time between the creation of the old reports and of the young ones.
func measurePruning(ctx context.Context, c *rig.Cluster, cut time.Time) error {
	config := rest.CopyConfig(c.Config)
	count := &requests{n: map[asked]int{}}
	config.Wrap(count.wrap)
	client, err := kube.New(config)
	if err != nil {
		return err
	}
	p := &pruning{client: client, count: count}
	p.Writer = policystatus.Writer{Objects: client, Trail: client, Now: func() time.Time { return p.now }, Log: slog.New(slog.DiscardHandler)}
	setBounds := func(spec string) error {
		return c.ApplyAs(ctx, "bench", "apiVersion: nodefence.io/v1alpha1\nkind: FenceLedger\nmetadata: {name: cluster}\nspec: {reports: "+spec+"}")
	}
	if err := setBounds(fmt.Sprintf("{atMost: %d}", prunedTo)); err != nil {
		return err
	}
	p.now = cut.Truncate(passApart)
	if err := p.pruneTo(ctx, "by count, atMost 4000", prunedTo, trailActs); err != nil {
		return err
	}
	// Reports that were created before cut are older than the bound, and the others are not.
	p.now = cut.Add(time.Hour).Truncate(passApart).Add(passApart)
	keepFor := fmt.Sprintf("%.0fs", p.now.Sub(cut).Seconds())
	if err := setBounds("{keepFor: " + keepFor + "}"); err != nil {
		return err
	}
	return p.pruneTo(ctx, "by age, keepFor "+keepFor, trailYoung, trailObjects)
}

// pruning runs function policystatus, pass by pass.
type pruning struct {
	policystatus.Writer
	client *kube.Client
	count  *requests
	// now is the time of a pass, and stands still between two passes.
	now time.Time
}

// pruneTo runs passes until the trail has come to the bound, and one more, which must delete nothing.
func (p *pruning) pruneTo(ctx context.Context, what string, reports, acts int) error {
	p.count.take()
	passes, total := 0, map[asked]int{}
	for ; passes < mostPasses; passes++ {
		deleted, err := p.runPass(ctx, total)
		if err != nil {
			return fmt.Errorf("pass %d over the trail: %w", passes+1, err)
		}
		if deleted == 0 {
			break
		}
	}
	left := map[string]int{}
	for _, resource := range []string{kube.FenceReports, kube.FenceActs} {
		all, err := p.client.TrailAges(ctx, resource, 2*trailReports)
		if err != nil {
			return err
		}
		left[resource] = len(all)
	}
	fmt.Printf("pruned %s: %d FenceReports and %d FenceActs are left after %d passes and one that deletes nothing\n", what, left[kube.FenceReports], left[kube.FenceActs], passes)
	table(total)
	if left[kube.FenceReports] != reports || left[kube.FenceActs] != acts {
		return fmt.Errorf("pruned %s: %v are left, and not %d FenceReports and %d FenceActs", what, left, reports, acts)
	}
	return nil
}

// runPass runs one pass, adds its requests to total, and returns how many objects the pass deleted.
func (p *pruning) runPass(ctx context.Context, total map[asked]int) (deleted int, err error) {
	if err := p.Write(ctx); err != nil {
		return 0, err
	}
	for a, n := range p.count.take() {
		if a.resource != kube.FenceReports && a.resource != kube.FenceActs {
			continue
		}
		total[a] += n
		if a.verb == "DELETE" {
			deleted += n
		}
	}
	return deleted, nil
}
