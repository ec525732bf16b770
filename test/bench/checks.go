package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/test/rig"
)

const (
	checkedNodes = 300
	// silentFirst of the nodes fall silent within the limit, and silentLater more go beyond it.
	silentFirst, silentLater = 40, 60
	// mostJobs is the default of the ledger's spec.checks.concurrent.
	mostJobs = 25
)

// checksPolicy checks each silent node by Jobs on four others, ten rounds long.
const checksPolicy = `
activityChecks:
  checks: [{type: Neighbors, neighbors: {count: 4}}]
  rounds: 10
  failedRounds: 10
  interval: 1s
  checkTimeout: 20s
limits: {maxUnhealthy: "20%", maxConcurrent: 10, stormCoolDown: 10m}
`

// measureChecks has a third of 300 nodes fall silent under activity checks, and counts the Jobs of the checks: how many
// run at once, and how many rounds begin once the storm stands in the ledger.
func measureChecks(ctx context.Context) (err error) {
	c, err := world(ctx, checkedNodes, "--lease", "10s", "--grace", "50s", "--status-period", "5m")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	machines, err := c.Lab.Machines()
	if err != nil {
		return err
	}
	if err := errors.Join(c.Bind(ctx, machines), c.Apply(ctx, rig.Policy("default", checksPolicy))); err != nil {
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
	var nodes []string
	for name := range machines {
		nodes = append(nodes, name)
	}
	slices.Sort(nodes)
	return watchChecks(ctx, c.Cluster, nodes[:silentFirst], nodes[silentFirst:silentFirst+silentLater])
}

// watchChecks crashes the first nodes, then the later nodes, and prints the counts of all checks.
func watchChecks(ctx context.Context, c *rig.Cluster, first, later []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := &runningJobs{}
	if err := jobs.follow(ctx, c); err != nil {
		return err
	}
	if err := c.Lab.AtOnce(first, "crash"); err != nil {
		return err
	}
	rounds := &rounds{begun: map[string]time.Time{}}
	if err := rounds.read(ctx, c.Fences, "rounds of checks to begin", func(*api.FenceLedger) (bool, error) { return len(rounds.begun) >= 3, nil }); err != nil {
		return err
	}
	if err := c.Lab.AtOnce(later, "crash"); err != nil {
		return err
	}
	all := slices.Concat(first, later)
	err := rounds.read(ctx, c.Fences, "a storm, the end of all rounds, and a hold of each fence", func(l *api.FenceLedger) (bool, error) {
		if len(l.Status.Storms) == 0 || len(l.Status.Checking) > 0 {
			return false, nil
		}
		n, err := held(ctx, c, all)
		return n == len(all), err
	})
	if err != nil {
		return err
	}
	late := rounds.after()
	most, total := jobs.counts()
	fmt.Printf("activity checks, %d of %d nodes silent, at most 20%%: %d rounds, %d Jobs, at most %d at once\n", len(all), checkedNodes, len(rounds.begun), total, most)
	fmt.Printf("rounds that began once the storm stood in the ledger: %d; all %d fences wait with TooManyUnhealthy\n", len(late), len(all))
	if len(late) > 0 || most > mostJobs {
		return fmt.Errorf("%d Jobs ran at once, and in the storm these rounds began: %s", most, strings.Join(late, ", "))
	}
	return nil
}

// held counts the nodes whose fence waits for the storm to end.
func held(ctx context.Context, c *rig.Cluster, nodes []string) (n int, err error) {
	fences, err := c.Fences.Fences(ctx)
	if err != nil {
		return 0, err
	}
	for _, f := range fences {
		if slices.Contains(nodes, f.Spec.NodeName) && f.Status.Phase == api.Pending && f.Status.Reason == api.TooManyUnhealthy {
			n++
		}
	}
	return n, nil
}

// rounds has the rounds of checks and the storm of the ledger.
type rounds struct {
	begun map[string]time.Time // by node and time
	storm time.Time
}

// read reads the ledger until ok holds for it.
func (r *rounds) read(ctx context.Context, fences *kube.Client, what string, ok func(*api.FenceLedger) (bool, error)) error {
	return rig.Until(ctx, what, func() (bool, error) {
		l, err := fences.Ledger(ctx)
		if err != nil {
			return false, err
		}
		for _, turn := range l.Status.Checking {
			r.begun[turn.NodeName+" "+turn.At.UTC().Format(time.RFC3339Nano)] = turn.At.Time
		}
		if len(l.Status.Storms) > 0 {
			r.storm = l.Status.Storms[0].Since.Time
		}
		return ok(l)
	})
}

// after returns the rounds that began after the storm.
func (r *rounds) after() (late []string) {
	for name, at := range r.begun {
		if at.After(r.storm) {
			late = append(late, name)
		}
	}
	return late
}

// runningJobs counts the Jobs of checks by a watch.
type runningJobs struct {
	mu          sync.Mutex
	runs        map[string]bool
	most, total int
}

func (j *runningJobs) follow(ctx context.Context, c *rig.Cluster) error {
	j.runs = map[string]bool{}
	w, err := c.Kube.BatchV1().Jobs("nodefence-checks").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watch the Jobs of checks: %w", err)
	}
	go func() {
		for e := range w.ResultChan() {
			if job, ok := e.Object.(*batchv1.Job); ok {
				j.note(job, e.Type == watch.Deleted)
			}
		}
	}()
	return nil
}

func (j *runningJobs) note(job *batchv1.Job, gone bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, known := j.runs[job.Name]; !known {
		j.total++
	}
	j.runs[job.Name] = !gone && !slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
	n := 0
	for _, runs := range j.runs {
		if runs {
			n++
		}
	}
	j.most = max(j.most, n)
}

func (j *runningJobs) counts() (most, total int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.most, j.total
}
