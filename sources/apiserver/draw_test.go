package apiserver

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/census"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
)

// census is the ledger's; nil if it has none.
func (f *fakeAPI) census() *api.Census {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ledger().Status.Census
}

func names(c *api.Census) (all []string) {
	if c == nil {
		return nil
	}
	for _, n := range c.Nodes {
		if n.Unhealthy {
			all = append(all, n.NodeName)
		}
	}
	return all
}

// TestTheCensusIsThereBeforeTheEvent: whoever is told of an unhealthy node finds it counted.
func TestTheCensusIsThereBeforeTheEvent(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	f.set(nodesURL, nodeIn("b", "True", 0))
	s, b := start(t, f, time.Hour)
	eventually(t, func() bool { return s.Ready() == nil && f.census() != nil })
	seen := make(chan []string, 100)
	b.Answer = func(e event.Event) error {
		if e.Type() == events.NodeUnhealthy {
			seen <- names(f.census())
		}
		return nil
	}
	for i, node := range []string{"a", "b"} {
		f.set(nodesURL, nodeIn(node, "Unknown", float64(i+1)))
		b.Until(t, func(e event.Event) bool { return e.Type() == events.NodeUnhealthy && e.Subject() == node })
		if got := <-seen; !slices.Contains(got, node) {
			t.Errorf("the event of %s was sent while the census named %v", node, got)
		}
	}
}

// TestNoCensusOfWhatIsNotWatched: while a watch is broken or silent, or has not listed, there
// is none, and there is one again afterwards.
func TestNoCensusOfWhatIsNotWatched(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	s, _ := start(t, f, time.Hour)
	eventually(t, func() bool { return s.Ready() == nil && f.census() != nil })
	p := api.LeasePicture{}
	now := s.now()
	if c, _ := s.census(p, now); c == nil || len(c.Alike) != 1 || c.Source != "me" {
		t.Errorf("%+v", c)
	}
	for _, resource := range []string{nodes, fences, policies, budgets} {
		for name, change := range map[string]func(*standing){
			"broken":     func(x *standing) { x.broken = now },
			"silent":     func(x *standing) { x.heard = now.Add(-admission.CensusLag - time.Second) },
			"not listed": func(x *standing) { x.listed = func() bool { return false } },
		} {
			s.standing.mu.Lock()
			was := *s.standing.locked(resource)
			change(s.standing.locked(resource))
			s.standing.mu.Unlock()
			if c, _ := s.census(p, now); c != nil {
				t.Errorf("%s %s: %+v", resource, name, c)
			}
			s.standing.mu.Lock()
			*s.standing.locked(resource) = was
			s.standing.mu.Unlock()
		}
	}
}

// TestAnotherSourcesCensusStays: of two sources that believe to lead, the one that has
// stopped leading finds a census that was written after its own, and writes none.
func TestAnotherSourcesCensusStays(t *testing.T) {
	f := newFakeAPI(t)
	f.set(ledgerURL, &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName}})
	s := &Source{o: Options{Client: f.client(), Logger: quiet()}, now: func() time.Time { return t0.Add(3 * time.Second) }, targets: newTargetStore(), counting: census.New(), configs: newConfigStore(), enrol: &enrolment{}}
	at := func(source string, after time.Duration) *api.Census {
		return &api.Census{Source: source, ObservedAt: *leases.Stamp(t0.Add(after))}
	}
	if l, err := s.write(t.Context(), drawn{census: at("mine", 0)}); err != nil || l == nil {
		t.Fatal(l, err)
	}
	f.mu.Lock()
	l := f.ledger()
	l.Status.Census = at("theirs", time.Second)
	f.store(ledgerURL, l)
	f.mu.Unlock()
	if l, err := s.write(t.Context(), drawn{census: at("mine", 2*time.Second)}); err != nil || l != nil {
		t.Errorf("%+v, %v", l, err)
	}
	if c := f.census(); c == nil || c.Source != "theirs" {
		t.Errorf("%+v", c)
	}
	// One that was written before is the last word of a source that has ended.
	s.counting.Wrote(nil, at("mine", 3*time.Second))
	if l, err := s.write(t.Context(), drawn{census: at("mine", 4*time.Second)}); err != nil || l == nil || f.census().Source != "mine" {
		t.Errorf("%+v, %v, %+v", l, err, f.census())
	}
}

// TestANewerPictureStays: the write of the picture alone takes no part in the compare-and-swap, and so
// never takes the place of what another source has drawn since.
func TestANewerPictureStays(t *testing.T) {
	now := t0.Add(time.Minute)
	for name, c := range map[string]struct {
		there, mine *api.Time
		want        bool
	}{
		"there is none":                {nil, leases.Stamp(now), false},
		"an older one":                 {leases.Stamp(now.Add(-2 * time.Second)), leases.Stamp(now), false},
		"its own":                      {leases.Stamp(now), leases.Stamp(now), false},
		"one drawn since":              {leases.Stamp(now), leases.Stamp(now.Add(-time.Second)), true},
		"one of a clock that is ahead": {leases.Stamp(now.Add(time.Hour)), leases.Stamp(now), false},
		"one drawn since, long ago":    {leases.Stamp(now.Add(-30 * time.Second)), leases.Stamp(now.Add(-40 * time.Second)), false},
	} {
		l := &api.FenceLedger{}
		l.Status.Leases.ObservedAt = c.there
		if got := hasNewerPicture(l, api.LeasePicture{ObservedAt: c.mine}, now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestAWatchIsHeard at each event, bookmarks too, and ends.
func TestAWatchIsHeard(t *testing.T) {
	heard, ended := 0, 0
	under := watch.NewFake()
	w := noticed(under, func() { heard++ }, func() { ended++ })
	go under.Action(watch.Bookmark, &api.NodeFence{})
	if e := <-w.ResultChan(); e.Type != watch.Bookmark || heard != 1 {
		t.Errorf("%+v, heard %d times", e, heard)
	}
	w.Stop()
	if _, open := <-w.ResultChan(); open || ended != 1 {
		t.Errorf("open %t, ended %d times", open, ended)
	}
}

// TestMoreThanACensusHolds is said once, and so is its end: meanwhile every decision lists the cluster.
func TestMoreThanACensusHolds(t *testing.T) {
	var log strings.Builder
	s := asleepWith(t, &taker{}, sec(30), "a")
	s.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	for _, resource := range []string{nodes, fences, policies, budgets} {
		s.standing.informs(resource, func() bool { return true })
		s.standing.began(resource, s.now())
	}
	draws := func(is bool, warned, told int) {
		t.Helper()
		for range 3 {
			if c, _ := s.census(api.LeasePicture{}, s.now()); (c != nil) != is {
				t.Errorf("%+v", c)
			}
		}
		said := log.String()
		if w, i := strings.Count(said, "9 FencePolicies, and a census holds 8"), strings.Count(said, "level=INFO"); w != warned || i != told {
			t.Errorf("warned %d times, told %d times that it is over:\n%s", w, i, said)
		}
	}
	draws(true, 0, 0)
	for i := range api.MaxCensusObjects + 1 {
		name := fmt.Sprint("p", i)
		s.counting.Policy(name, &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	draws(false, 1, 0)
	s.counting.Policy("p0", nil)
	draws(true, 1, 1)
}
