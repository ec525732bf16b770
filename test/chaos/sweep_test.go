package chaos

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/step"
	"github.com/nodefence/nodefence/sources/apiserver"
	"github.com/nodefence/nodefence/test/rig"
)

const sweepPolicy = `
timeouts: {deviceCall: 2s, powerOff: 15s, healthyFor: 0s, boot: 3m, release: 2m}
retries: {interval: 1s, perStep: 5}
limits: {maxUnhealthy: "70%", maxConcurrent: 100, stormCoolDown: 0s, perNodePerDay: 1000}
`

// A wave of victims is fenced at once; fewer than half of the nodes, or
// nodefence would rightly think that it is the one cut off.
const (
	sweepNodes = 50
	wave       = 22
)

// point is one place to die: the n-th call, and which half of it is lost.
type point struct {
	n    int
	lost half
	name string
}

// TestCutAtEveryCall kills the functions' process at each of its calls in turn.
// A new process goes on. Each time the fence ends, the pod moves, and the BMC has
// seen one off and one on.
func TestCutAtEveryCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*rig.Timeout)
	defer cancel()
	s := newSweep(t, ctx)
	points := s.measure()
	if os.Getenv("SWEEP") != "all" {
		points = some(points)
	}
	t.Logf("%d points to die at", len(points))
	fired := 0
	for chunk := range slices.Chunk(points, wave) {
		fired += s.wave(chunk)
	}
	t.Logf("%d of %d points were reached", fired, len(points))
	if fired*10 < len(points)*8 {
		t.Errorf("only %d of %d points were reached", fired, len(points))
	}
	w, err := s.Lab.Writers()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range w.Overlaps {
		t.Errorf("two writers on one volume: %s", o)
	}
}

type sweep struct {
	*rig.Cluster
	t       *testing.T
	ctx     context.Context
	mu      sync.Mutex
	runners map[string]*runner
	// told is how often each BMC had been told off and on before this wave.
	told map[string]int
}

func newSweep(t *testing.T, ctx context.Context) *sweep {
	t.Helper()
	lab, err := rig.Up(ctx, rig.LabOptions{Name: fmt.Sprintf("sweep-%d", os.Getpid()), Nodes: sweepNodes})
	check(t, err)
	t.Cleanup(func() { check(t, lab.Down()) })
	c, err := rig.Connect(lab)
	check(t, err)
	check(t, c.Install(ctx))
	machines, err := lab.Machines()
	check(t, err)
	check(t, c.Bind(ctx, machines))
	check(t, c.Apply(ctx, rig.Policy("default", sweepPolicy)))
	check(t, c.Apply(ctx, strings.Replace(rig.StatefulSet("db", wave+4), "      containers:", `      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: db}}}
      containers:`, 1)))
	s := &sweep{Cluster: c, t: t, ctx: ctx, runners: map[string]*runner{}, told: map[string]int{}}
	for i := range wave + 4 {
		_, err := c.PodRunning(ctx, fmt.Sprintf("db-%d", i), "")
		check(t, err)
	}
	s.source()
	return s
}

// source runs the real one; its events go to the runner of their node.
func (s *sweep) source() {
	src, err := apiserver.New(apiserver.Options{
		Config: s.Config, Client: s.Fences, Sender: s, Logger: quiet(), Source: events.SourceOf("sweep"),
		Namespace: rig.Settings().Namespace, Resync: 5e9, Identity: "sweep",
	})
	check(s.t, err)
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = src.Run(ctx) }()
	s.t.Cleanup(func() { cancel(); <-done })
}

// Send hands an event to the node's runner, as a broker would.
func (s *sweep) Send(_ context.Context, e event.Event) error {
	s.mu.Lock()
	r := s.runners[e.Subject()]
	s.mu.Unlock()
	if r != nil {
		go r.deliver(e)
	}
	return nil
}

// runner is the functions' process for one node, and what replaces it once it is cut.
type runner struct {
	s     *sweep
	mu    sync.Mutex
	cut   *cut
	all   map[string]run.Handler
	first *cut
}

func (s *sweep) newRunner(c *cut) *runner {
	r := &runner{s: s, first: c}
	r.start(c)
	return r
}

// start makes a process: its own client and its own drivers, both cut at one place.
func (r *runner) start(c *cut) {
	cfg := rest.CopyConfig(r.s.Config)
	client, err := kube.New(cfg)
	check(r.s.t, err)
	_ = client.Ready(r.s.ctx) // learns the API server's clock, as a started process has
	cfg.Wrap(c.transport)
	client, err = kube.New(cfg)
	check(r.s.t, err)
	drivers := map[string]device.Kind{}
	for name, k := range functions.Drivers {
		drivers[name] = c.kind(k)
	}
	parts := functions.Parts{
		Settings: rig.Settings(), Client: client, Source: events.SourceOf("sweep"), Log: quiet(), Drivers: drivers,
	}
	parts.Witness = step.NewPublic(quiet(), client, prometheus.NewRegistry())
	r.cut, r.all = c, functions.Handlers(parts)
}

// deliver gives an event and every reply to the function that owns it, as
// triggers do. What a process had in hand when it died is lost with it.
func (r *runner) deliver(e event.Event) {
	for next := &e; next != nil; {
		r.mu.Lock()
		c, h := r.cut, r.all[functions.Owner(next.Type())]
		r.mu.Unlock()
		if h == nil {
			return
		}
		reply, err := h(r.s.ctx, *next)
		if c.isDead() {
			r.replace(c)
			return
		}
		if err != nil {
			return // the source sends it again
		}
		next = reply
	}
}

func (r *runner) replace(old *cut) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut == old {
		r.start(&cut{})
	}
}

// measure runs one fence without a cut and lists where one can die.
func (s *sweep) measure() []point {
	s.t.Helper()
	c := &cut{}
	s.fence([]*cut{c})
	var all []point
	seen := map[string]int{}
	for i, call := range c.calls {
		seen[call.name]++
		// A read that comes for the tenth time dies like the third.
		if call.writes || seen[call.name] <= 3 {
			all = append(all, point{i + 1, request, call.name})
		}
		if call.writes {
			all = append(all, point{i + 1, answer, call.name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		s.t.Logf("%4d  %s", seen[name], name)
	}
	return all
}

// some are the points that every run takes: all calls to the device, and every
// fifth of the others. SWEEP=all (make chaos) takes all; it needs a quarter of
// an hour.
func some(points []point) []point {
	var few []point
	for i, p := range points {
		if i%5 == 0 || strings.HasPrefix(p.name, "device") {
			few = append(few, p)
		}
	}
	return few
}

// wave fences one node for each point, all at once, and counts the cuts that fired.
func (s *sweep) wave(points []point) (fired int) {
	s.t.Helper()
	cuts := make([]*cut, len(points))
	for i, p := range points {
		cuts[i] = &cut{at: p.n, lost: p.lost}
	}
	s.fence(cuts)
	for _, c := range cuts {
		if c.isDead() {
			fired++
		}
	}
	return fired
}

// fence crashes as many nodes as there are cuts, and waits for each to end well.
func (s *sweep) fence(cuts []*cut) {
	s.t.Helper()
	pods := s.victims(len(cuts))
	generation := map[string]int64{}
	var wg sync.WaitGroup
	i := 0
	for node := range pods {
		if f, err := s.Fences.Fence(s.ctx, node); err == nil && f != nil {
			generation[node] = f.Spec.Generation
		}
		r := s.newRunner(cuts[i])
		s.mu.Lock()
		s.runners[node] = r
		s.mu.Unlock()
		i++
		wg.Go(func() { check(s.t, s.Lab.Node(node, "crash")) })
	}
	wg.Wait()
	for node, pod := range pods {
		s.ended(node, pod, generation[node])
	}
}

// victims are nodes that run a pod with a volume, with that pod.
func (s *sweep) victims(n int) map[string]string {
	s.t.Helper()
	list, err := s.Kube.CoreV1().Pods(metav1.NamespaceDefault).List(s.ctx, metav1.ListOptions{})
	check(s.t, err)
	pods := map[string]string{}
	for _, p := range list.Items {
		if len(pods) < n && pods[p.Spec.NodeName] == "" && p.Spec.NodeName != "" {
			pods[p.Spec.NodeName] = p.Name
		}
	}
	if len(pods) < n {
		// Fewer nodes than points have a pod just now: nodes without one do as well.
		for i := 0; len(pods) < n; i++ {
			if node := fmt.Sprintf("node-%d", i); pods[node] == "" {
				pods[node] = "-"
			}
		}
	}
	return pods
}

func (s *sweep) ended(node, pod string, after int64) {
	s.t.Helper()
	err := rig.Until(s.ctx, "the fence of "+node+" to end", func() (bool, error) {
		f, err := s.Fences.Fence(s.ctx, node)
		return f != nil && f.Spec.Generation > after && f.Status.Generation == f.Spec.Generation && f.Status.Phase == api.Finished, err
	})
	f, _ := s.Fences.Fence(s.ctx, node)
	if err != nil {
		words, _ := s.Lab.Words(node)
		s.t.Fatalf("%v; cut at %s; its BMC was told %q\n%s", err, s.where(node), words, rig.Story(f))
	}
	s.told[node]++
	words, err := s.Lab.Words(node)
	check(s.t, err)
	if want := strings.TrimSpace(strings.Repeat("off on ", s.told[node])); words != want {
		s.t.Errorf("cut at %s: the BMC of %s was told %q, want %q\n%s", s.where(node), node, words, want, rig.Story(f))
	}
	if pod != "-" {
		if _, err := s.PodRunning(s.ctx, pod, ""); err != nil {
			s.t.Errorf("cut at %s: %v", s.where(node), err)
		}
	}
	check(s.t, s.Ready(s.ctx, node, corev1.ConditionTrue))
}

// where is the call at which the node's first process died.
func (s *sweep) where(node string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runners[node].describe()
}

func (r *runner) describe() string {
	c := r.first
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		return "no call"
	}
	return fmt.Sprintf("call %d (%s, answer lost: %v)", c.at, c.calls[c.at-1].name, c.lost)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewJSONHandler(logTo, nil)) }

var logTo io.Writer = io.Discard
