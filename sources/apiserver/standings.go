package apiserver

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/shared/admission"
)

// standing says whether one watch stands. Informers restore a broken watch by themselves,
// but do not say that nobody watched for a while.
type standing struct {
	// broken is since when the watch is broken; zero while it stands.
	broken time.Time
	// said: this break has been logged.
	said bool
	// heard is when something came of it last, were it only that nothing has changed.
	heard time.Time
	// listed tells whether everything that was listed has been handled.
	listed cache.InformerSynced
}

// brokenTooLong is how long a watch may be broken before the source says that it is not
// ready: a new connection takes milliseconds.
const brokenTooLong = 10 * time.Second

// noticedWatch reports each event, bookmarks too, and its end: every reader of a watch stops
// it.
type noticedWatch struct {
	watch.Interface
	events chan watch.Event
	stop   func()
}

func noticed(w watch.Interface, heard, ended func()) *noticedWatch {
	stopped := make(chan struct{})
	n := &noticedWatch{Interface: w, events: make(chan watch.Event), stop: sync.OnceFunc(func() { close(stopped) })}
	go func() {
		defer close(n.events)
		for e := range w.ResultChan() {
			heard()
			select {
			case n.events <- e:
			case <-stopped:
				return
			}
		}
	}()
	stop := n.stop
	n.stop = func() { stop(); w.Stop(); ended() }
	return n
}

// ResultChan has the events.
func (w *noticedWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop ends the watch.
func (w *noticedWatch) Stop() { w.stop() }

// standings has the state of each watch, and what else is missing until events are sent.
type standings struct {
	log *slog.Logger

	mu    sync.Mutex
	state error
	of    map[string]*standing
}

var errStarting = errors.New("the source has not listed the cluster yet")

func newStandings(log *slog.Logger) *standings {
	w := &standings{log: log}
	w.begin()
	return w
}

// begin resets the store before each lead.
func (w *standings) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.of = errStarting, map[string]*standing{}
}

func (w *standings) set(state error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = state
}

func (w *standings) missing() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

func (w *standings) began(resource string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.locked(resource)
	if x.said {
		w.log.Info("watching again", "resource", resource)
	}
	*x = standing{heard: now, listed: x.listed}
}

// informs notes who tells whether all that a watch began with has been handled.
func (w *standings) informs(resource string, listed cache.InformerSynced) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.locked(resource).listed = listed
}

func (w *standings) heard(resource string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.locked(resource).heard = now
}

// hears tells whether all of these watches stand, have begun to the end, and were not silent
// for so long that they may be behind (S15).
func (w *standings) hears(now time.Time, resources ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, resource := range resources {
		x := w.locked(resource)
		if !x.broken.IsZero() || x.listed == nil || !x.listed() || now.Sub(x.heard) > admission.CensusLag {
			return false
		}
	}
	return true
}

func (w *standings) ended(resource string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.locked(resource); x.broken.IsZero() {
		x.broken = now
	}
}

// failed logs each break once, however often the watch is tried again.
func (w *standings) failed(ctx context.Context, resource string, err error, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.locked(resource)
	if x.broken.IsZero() {
		x.broken = now
	}
	if x.said || ctx.Err() != nil {
		return
	}
	x.said = true
	w.log.Warn("watch broken off; it is tried again until it stands", "resource", resource, "error", err.Error())
}

// locked returns the state of one watch. The caller holds the lock.
func (w *standings) locked(resource string) *standing {
	x, ok := w.of[resource]
	if !ok {
		x = &standing{}
		w.of[resource] = x
	}
	return x
}

// drop forgets watches that are no longer needed.
func (w *standings) drop(resources []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, resource := range resources {
		delete(w.of, resource)
	}
}

func (w *standings) broken(resource string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.locked(resource).broken.IsZero()
}

// away returns the watches that have been broken for longer than brokenTooLong.
func (w *standings) away(now time.Time) (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, x := range w.of {
		if !x.broken.IsZero() && now.Sub(x.broken) > brokenTooLong {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
