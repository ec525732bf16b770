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
	"sync/atomic"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/binding"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/sources/apiserver"
	"github.com/nodefence/nodefence/test/rig"
)

const sweepPolicy = `
power: {offTimeout: 15s, attempts: 5, retryInterval: 1s}
release: {timeout: 2m}
recovery: {bootTimeout: 3m, readyDuration: 0s}
limits: {maxUnhealthy: "70%", maxConcurrent: 100, stormCoolDown: 0s, perNode: {cutsPerDay: 100}}
`

// At most lanes nodes are fenced at once: fewer than half of all, because otherwise
// nodefence would rightly conclude that it is cut off itself.
const (
	sweepNodes = 72
	lanes      = 22
	pods       = lanes + 10
)

// point is one place to die: the n-th call, and which half of it is lost.
type point struct {
	n    int
	lost half
	name string
}

// TestCutAtEveryCall kills the functions' process at each of its calls in turn. A new
// process continues. Each time the fence ends, the pod moves, and the BMC has seen one off
// and one on.
func TestCutAtEveryCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*rig.Timeout)
	defer cancel()
	s := newSweep(t, ctx)
	points := s.measure()
	t.Logf("%d points to die at", len(points))
	fired := s.all(points)
	t.Logf("%d of %d points were reached", fired, len(points))
	if fired*10 < len(points)*8 {
		t.Errorf("only %d of %d points were reached", fired, len(points))
	}
	if _, err := s.Lab.OneWriter(); err != nil {
		t.Error(err)
	}
}

type sweep struct {
	*rig.Cluster
	t       *testing.T
	ctx     context.Context
	mu      sync.Mutex
	runners map[string]*runner
	// told is how often each BMC had been told off and on before.
	told map[string]int
	busy map[string]bool
}

func newSweep(t *testing.T, ctx context.Context) *sweep {
	t.Helper()
	c := rig.ForTest(ctx, t, rig.LabOptions{Name: fmt.Sprintf("sweep-%d", os.Getpid()), Nodes: sweepNodes})
	check(t, c.Furnish(ctx, sweepPolicy))
	check(t, c.Apply(ctx, strings.Replace(rig.StatefulSet("db", pods), "      containers:", `      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: db}}}
      containers:`, 1)))
	s := &sweep{Cluster: c, t: t, ctx: ctx, runners: map[string]*runner{}, told: map[string]int{}, busy: map[string]bool{}}
	for i := range pods {
		_, err := c.PodRunning(ctx, fmt.Sprintf("db-%d", i), "")
		check(t, err)
	}
	s.source(s.Config)
	return s
}

// source runs the real one until the test ends, or until it is ended; its events go to the runner
// of their node.
func (s *sweep) source(cfg *rest.Config) (end func()) {
	client, err := kube.New(cfg)
	check(s.t, err)
	src, err := apiserver.New(apiserver.Options{
		Config: cfg, Client: client, Sender: s, Logger: quiet(), Source: events.SourceOf("sweep"),
		Namespace: rig.Settings().Namespace, Resync: 5e9, Identity: "sweep",
	})
	check(s.t, err)
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = src.Run(ctx) }()
	end = func() { cancel(); <-done }
	s.t.Cleanup(end)
	return end
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
	for name, k := range binding.Drivers {
		drivers[name] = c.kind(k)
	}
	parts := functions.Parts{
		Settings: rig.Settings(), Client: client, Source: events.SourceOf("sweep"), Log: quiet(), Drivers: drivers,
	}
	parts.Reporter = report.New(quiet(), client, prometheus.NewRegistry())
	r.cut, r.all = c, functions.Handlers(parts)
}

// deliver gives an event and every reply to the function that owns it, as triggers do. If a
// process dies, the event that it was handling is lost.
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
	s.fence(c)
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

// all fences one node for each point, as many at once as there are lanes, and counts the
// cuts that took effect.
func (s *sweep) all(points []point) int {
	var (
		wg    sync.WaitGroup
		fired atomic.Int64
		next  = make(chan point)
	)
	for range lanes {
		wg.Go(func() {
			for p := range next {
				c := &cut{at: p.n, lost: p.lost}
				s.fence(c)
				if c.isDead() {
					fired.Add(1)
				}
			}
		})
	}
	for i, p := range points {
		next <- p
		if i%lanes == lanes-1 {
			s.t.Logf("%d of %d points begun", i+1, len(points))
		}
	}
	close(next)
	wg.Wait()
	return int(fired.Load())
}

// fence crashes a node whose functions die at the cut, and waits for the fence
// to end well.
func (s *sweep) fence(c *cut) {
	node, pod := s.victim()
	if node == "" {
		return
	}
	after := int64(0)
	if f, err := s.Fences.Fence(s.ctx, node); err == nil && f != nil {
		after = f.Status.FenceNumber
	}
	r := s.newRunner(c)
	s.mu.Lock()
	s.runners[node] = r
	s.mu.Unlock()
	check(s.t, s.Lab.Node(node, "crash"))
	s.ended(node, pod, after)
	s.mu.Lock()
	delete(s.busy, node)
	s.mu.Unlock()
}

// victim takes a node that no other test uses and that runs a pod with a volume; it waits
// until there is one.
func (s *sweep) victim() (node, pod string) {
	check(s.t, rig.Until(s.ctx, "a node that runs a pod", func() (bool, error) {
		list, err := s.Kube.CoreV1().Pods(metav1.NamespaceDefault).List(s.ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range list.Items {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && !s.busy[p.Spec.NodeName] {
				node, pod = p.Spec.NodeName, p.Name
				s.busy[node] = true
				return true, nil
			}
		}
		return false, nil
	}))
	return node, pod
}

func (s *sweep) ended(node, pod string, after int64) {
	s.t.Helper()
	err := rig.Until(s.ctx, "the fence of "+node+" to end", func() (bool, error) {
		f, err := s.Fences.Fence(s.ctx, node)
		return err == nil && f != nil && f.Status.FenceNumber > after && f.Status.Phase == api.Finished, nil
	})
	f, _ := s.Fences.Fence(s.ctx, node)
	if err != nil {
		words, _ := s.Lab.Words(node)
		s.t.Errorf("%v; cut at %s; its BMC was told %q\n%s", err, s.where(node), words, rig.Story(f))
		return
	}
	s.mu.Lock()
	s.told[node]++
	told := s.told[node]
	s.mu.Unlock()
	words, err := s.Lab.Words(node)
	check(s.t, err)
	if want := strings.TrimSpace(strings.Repeat("off on ", told)); words != want {
		s.t.Errorf("cut at %s: the BMC of %s was told %q, want %q\n%s", s.where(node), node, words, want, rig.Story(f))
	}
	if _, err := s.PodRunning(s.ctx, pod, ""); err != nil {
		s.t.Errorf("cut at %s: %v", s.where(node), err)
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
