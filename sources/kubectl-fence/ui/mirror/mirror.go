package mirror

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Gap is a kind of which the mirror does not have what the API server has.
type Gap struct {
	// Kind is its plural name, for people: "FencePolicies".
	Kind string
	// Why says what is wrong, and what to do; empty while it is only being read.
	Why string
	// Err is the error that Why explains.
	Err error
	// Unread: nothing of it was read yet.
	Unread bool
	// Since is when that began, by this machine's clock.
	Since time.Time
}

// followed is one kind that is followed.
type followed struct {
	kind     string
	informer cache.SharedIndexInformer

	mu    sync.Mutex
	why   string
	err   error
	since time.Time
}

// Mirror follows the kinds that the pages and status -w show. Run it once.
type Mirror struct {
	nodes, fences, policies, targets, ledgers, reports *followed
	// acts tell who changed a brake. Where they can't be read, pages leave that out: it is no Gap.
	acts *followed

	client  *cluster.Client
	mu      sync.Mutex
	waiting map[chan struct{}]bool
	// pods are followed of the nodes whose pages are open.
	pods map[string]*podsOf
	// running is done when Run ends.
	running context.Context
}

// New follows by this client. It sends no request before Run.
func New(c *cluster.Client) *Mirror {
	m := &Mirror{client: c, waiting: map[chan struct{}]bool{}, pods: map[string]*podsOf{}}
	m.nodes = m.follow("Nodes", &corev1.Node{}, c.Nodes())
	m.fences = m.follow("NodeFences", &api.NodeFence{}, c.Own("nodefences"))
	m.policies = m.follow("FencePolicies", &api.FencePolicy{}, c.Own("fencepolicies"))
	m.targets = m.follow("FenceTargets", &api.FenceTarget{}, c.Own("fencetargets"))
	m.ledgers = m.follow("FenceLedgers", &api.FenceLedger{}, c.Own("fenceledgers"))
	m.acts = m.follow("FenceActs", &api.FenceAct{}, c.BrakeActs())
	return m
}

// WithReports follows the FenceReports too. Call it before Run.
func (m *Mirror) WithReports() *Mirror {
	m.reports = m.follow("FenceReports", &api.FenceReport{}, m.client.Own("fencereports"))
	return m
}

// shown are the kinds of which each lack is a Gap.
func (m *Mirror) shown() []*followed {
	all := []*followed{m.nodes, m.fences, m.policies, m.targets, m.ledgers}
	if m.reports != nil {
		all = append(all, m.reports)
	}
	return all
}

// follow prepares the informer of one kind.
func (m *Mirror) follow(kind string, of runtime.Object, lw *cache.ListWatch) *followed {
	f := &followed{kind: kind, since: time.Now()}
	f.informer = cache.NewSharedIndexInformer(m.told(f, lw), of, 0, cache.Indexers{})
	changed := func(any) { m.changed() }
	// None of these fails before the informer runs.
	_, _ = f.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: changed, DeleteFunc: changed, UpdateFunc: func(_, _ any) { m.changed() }})
	_ = f.informer.SetTransform(trimmed)
	_ = f.informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}) // told has it
	return f
}

// Run follows all kinds until ctx is done. client-go logs nothing of that: what goes wrong is a Gap.
func (m *Mirror) Run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.Logger{})
	m.mu.Lock()
	m.running = ctx
	m.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { m.forgets(ctx) })
	for _, f := range append(m.shown(), m.acts) {
		wg.Go(func() { f.informer.RunWithContext(ctx) })
	}
	wg.Wait()
}

// changed wakes everybody who waits for a change.
func (m *Mirror) changed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.waiting {
		select {
		case c <- struct{}{}:
		default: // it has been woken, and has not looked yet
		}
	}
}

// Changes gets something after each change; many changes may come to one. The second result ends
// that.
func (m *Mirror) Changes() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting[c] = true
	return c, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiting, c)
	}
}

// Seen is what the mirror has now.
func (m *Mirror) Seen(now time.Time) view.Seen {
	s := view.Seen{
		Now: now, Ledger: &api.FenceLedger{},
		Nodes:    items(m.nodes, func(n *corev1.Node) string { return n.Name }),
		Fences:   items(m.fences, func(f *api.NodeFence) string { return f.Name }),
		Policies: items(m.policies, func(p *api.FencePolicy) string { return p.Name }),
		Targets:  items(m.targets, func(t *api.FenceTarget) string { return t.Name }),
		Acts:     items(m.acts, func(a *api.FenceAct) string { return a.Name }),
	}
	if m.reports != nil {
		s.Reports = items(m.reports, func(r *api.FenceReport) string { return r.Name })
	}
	for _, l := range items(m.ledgers, func(l *api.FenceLedger) string { return l.Name }) {
		if l.Name == api.LedgerName {
			s.Ledger = &l
		}
	}
	return s.Indexed()
}

// items are the objects of one kind, by name.
func items[T any](f *followed, name func(*T) string) []T {
	list := f.informer.GetStore().List()
	out := make([]T, 0, len(list))
	for _, o := range list {
		if x, ok := o.(*T); ok {
			out = append(out, *x)
		}
	}
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(name(&a), name(&b)) })
	return out
}

// Gaps are the kinds that are not seen as they are.
func (m *Mirror) Gaps() []Gap {
	var out []Gap
	for _, f := range m.shown() {
		if g := f.gap(); g != nil {
			out = append(out, *g)
		}
	}
	return out
}

// gap says how the kind is not seen as it is; nil if it is.
func (f *followed) gap() *Gap {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == "" && f.informer.HasSynced() {
		return nil
	}
	return &Gap{Kind: f.kind, Why: f.why, Err: f.err, Unread: !f.informer.HasSynced(), Since: f.since}
}

// Words are the gap in a sentence.
func (g Gap) Words() string {
	if g.Why == "" {
		return g.Kind + " are still being read."
	}
	return fmt.Sprintf("%s are not shown as they are now: %s.", g.Kind, g.Why)
}
