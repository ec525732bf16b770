// Command bench measures nodefence on a lab: what a fence costs in requests and
// events, how long its parts and its drivers take, and how much memory it needs.
// Times are from whatever machine this is: compare them with each other only.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const fences = 20

const policy = `
recovery: {readyDuration: 0s}
limits: {maxUnhealthy: "60%", maxConcurrent: 20, stormCoolDown: 0s}
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Hour)
	defer cancel()
	parts := map[string]func() error{
		"programs": func() error { return measurePrograms(ctx) },
		"devices":  func() error { return measureDevices(ctx) },
		"fences":   func() error { return measureFences(ctx) },
		"burst":    func() error { return measureBurst(ctx) },
		"early":    func() error { return measureEarly(ctx) },
		"memory":   func() error { return errors.Join(measureMemory(ctx, 0), measureMemory(ctx, 500)) },
		"requests": func() error { return measureRequests(ctx) },
		"chains":   func() error { return measureChains(ctx) },
		"speed":    func() error { return measureSpeed(ctx) },
		"idle":     func() error { return measureIdle(ctx) },
		"checks":   func() error { return measureChecks(ctx) },
		"trail":    func() error { return measureTrail(ctx) },
	}
	order := []string{"programs", "devices", "fences", "burst", "early", "memory", "requests", "chains"}
	if len(os.Args) > 1 {
		order = os.Args[1:]
	}
	var err error
	for _, name := range order {
		if parts[name] == nil {
			err = errors.Join(err, fmt.Errorf("nothing called %q is measured; there are programs, devices, fences, burst, early, memory, requests, chains, speed, idle, checks and trail", name))
			continue
		}
		err = errors.Join(err, parts[name]())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// bench is a lab with everything installed.
type bench struct {
	*rig.Cluster
	// dir is for nodefence's own data.
	dir string
}

// world starts one; end has to follow.
func world(ctx context.Context, nodes int, flags ...string) (*bench, error) {
	fmt.Fprintf(os.Stderr, "starting a lab of %d nodes\n", nodes)
	lab, err := rig.Up(ctx, rig.LabOptions{Name: fmt.Sprintf("bench-%d", os.Getpid()), Nodes: nodes, Flags: flags})
	if err != nil {
		return nil, err
	}
	c, err := rig.Connect(lab)
	if err == nil {
		err = c.Install(ctx)
	}
	dir := ""
	if err == nil {
		dir, err = os.MkdirTemp("", "nodefence-bench")
	}
	if err != nil {
		return nil, errors.Join(err, lab.Down())
	}
	return &bench{c, dir}, nil
}

// Start runs nodefence in this process, with the broker as users run it.
func (b *bench) Start(ctx context.Context, dir string, log io.Writer, change func(*local.Options)) (*rig.InProcess, error) {
	return b.Cluster.Start(ctx, dir, log, runAsUsersDo(change))
}

// runAsUsersDo has the broker sync each event to the disk before it is acknowledged, as nodefence-local does. Tests
// leave that to the operating system, and are faster than any user's cluster by it.
func runAsUsersDo(change func(*local.Options)) func(*local.Options) {
	return func(o *local.Options) {
		if change != nil {
			change(o)
		}
		o.NoSync = false
	}
}

// end leaves nothing behind.
func (b *bench) end() error { return errors.Join(b.Lab.Down(), os.RemoveAll(b.dir)) }

// counter counts requests by verb.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.mu.Lock()
		if r.URL.Query().Get("watch") == "" {
			c.n[r.Method]++
		}
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func measureFences(ctx context.Context) (err error) {
	c, err := world(ctx, 2*fences+1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	pods, _, err := c.spread(ctx, fences+1, policy, "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: db}}}]")
	if err != nil {
		return err
	}
	count := &counter{n: map[string]int{}}
	p, err := c.Start(ctx, c.dir, io.Discard, func(o *local.Options) { o.Config.Wrap(count.wrap) })
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := p.Watching(ctx); err != nil {
		return err
	}
	return fenceAll(ctx, c.Cluster, p, pods, count)
}

func fenceAll(ctx context.Context, c *rig.Cluster, p *rig.InProcess, pods map[string]string, count *counter) error {
	count.mu.Lock()
	clear(count.n)
	count.mu.Unlock()
	before, err := p.Broker.Events(ctx)
	if err != nil {
		return err
	}
	var command, proof, gone, runs []time.Duration
	var legs rig.Legs
	for node := range pods {
		if err := c.Lab.Node(node, "crash"); err != nil {
			return err
		}
	}
	for node, pod := range pods {
		if _, err := c.PodRunning(ctx, pod, node); err != nil {
			return err
		}
		f, err := c.Phase(ctx, node, api.Finished)
		if err != nil {
			return err
		}
		off, err := c.Lab.Commands(node)
		if err != nil {
			return err
		}
		legs.Add(f)
		started := f.Status.OpenedAt.Time
		command = append(command, off[0].Time.Sub(started))
		proof = append(proof, f.Status.Proof.At.Sub(f.Status.Proof.Reads[0].At.Time))
		gone = append(gone, f.Status.Release.DoneAt.Sub(f.Status.Proof.At.Time))
		if now := c.Pod(ctx, pod); now != nil && now.Status.StartTime != nil {
			runs = append(runs, now.Status.StartTime.Sub(f.Status.Proof.At.Time))
		}
	}
	after, err := p.Broker.Events(ctx)
	if err != nil {
		return err
	}
	n := float64(len(pods))
	fmt.Printf("%d fences at once, all ended well\n", len(pods))
	fmt.Printf("chain in one process: %s\n", &legs)
	show("Ready=Unknown seen → power-off at the BMC", command)
	show("first read of off → proof", proof)
	show("proof → pods and attachments gone", gone)
	show("proof → pod runs elsewhere (whole seconds)", runs)
	fmt.Printf("events per fence: %.1f\n", float64(len(after)-len(before))/n)
	total := 0
	for _, verb := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		fmt.Printf("API requests per fence, %-6s %.1f\n", verb, float64(count.n[verb])/n)
		total += count.n[verb]
	}
	fmt.Printf("API requests per fence, all    %.1f (the source's share included)\n", float64(total)/n)
	return nil
}

func show(what string, d []time.Duration) { fmt.Printf("%-46s %s\n", what, rig.Percentiles(d)) }

// measureMemory reads what nodefence-local holds once it watches so many nodes.
func measureMemory(ctx context.Context, nodes int) (err error) {
	c, err := world(ctx, nodes, "--lease", "10s", "--grace", "50s")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	p, err := c.StartProcess(ctx, c.dir, io.Discard)
	if err != nil {
		return err
	}
	defer p.Stop()
	err = rig.Until(ctx, "all Leases to be watched", func() (bool, error) {
		if nodes == 0 {
			return true, nil // it is ready, and there is nothing to watch
		}
		l, err := c.Fences.Ledger(ctx)
		return err == nil && l.Status.Leases.ObservedAt != nil && int(l.Status.Leases.Total) == nodes, nil
	})
	if err != nil {
		return err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return err
	}
	for l := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(l, "VmRSS:"); ok {
			fmt.Printf("memory of nodefence-local with %3d nodes: %s\n", nodes, strings.TrimSpace(v))
		}
	}
	return nil
}
