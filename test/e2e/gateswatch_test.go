package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// slotWatch sees every version of the ledger and of the records. The API server sends them in
// order, each once. Both are in one etcd, so their versions have one common order.
type slotWatch struct {
	seen chan version
	// begun are the nodes whose fences have a slot, each when it gets one.
	begun chan string
}

// version is the ledger, or a record, from this revision on.
type version struct {
	at     uint64
	gone   bool
	ledger *api.FenceLedger
	fence  *api.NodeFence
	err    error
}

// watchSlots watches from here to the end of the test.
func watchSlots(w *world) *slotWatch {
	w.t.Helper()
	dyn, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	s := &slotWatch{seen: make(chan version, 10000), begun: make(chan string, 100)}
	for _, kind := range []string{"fenceledgers", "nodefences"} {
		r := dyn.Resource(api.GroupVersion.WithResource(kind))
		l, err := r.List(w.ctx, metav1.ListOptions{})
		must(w.t, err)
		events, err := r.Watch(w.ctx, metav1.ListOptions{ResourceVersion: l.GetResourceVersion()})
		must(w.t, err)
		w.t.Cleanup(events.Stop)
		go s.read(kind, events.ResultChan())
	}
	return s
}

func (s *slotWatch) read(kind string, from <-chan watch.Event) {
	holding := map[string]bool{}
	for e := range from {
		v := versionOf(e)
		if f := v.fence; f != nil {
			holds := !v.gone && f.CurrentPhase().HoldsSlot()
			if holds && !holding[f.Name] {
				s.begun <- f.Name
			}
			holding[f.Name] = holds
		}
		s.seen <- v
	}
	s.seen <- version{err: fmt.Errorf("the watch of %s has ended", kind)}
}

func versionOf(e watch.Event) version {
	u, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return version{err: fmt.Errorf("watch: %s: %v", e.Type, e.Object)}
	}
	v := version{gone: e.Type == watch.Deleted}
	var into any
	if u.GetKind() == "FenceLedger" {
		v.ledger = &api.FenceLedger{}
		into = v.ledger
	} else {
		v.fence = &api.NodeFence{}
		into = v.fence
	}
	if v.at, v.err = strconv.ParseUint(u.GetResourceVersion(), 10, 64); v.err == nil {
		v.err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
	}
	return v
}

// seenRound is what was seen in one round.
type seenRound struct {
	ledgers, records int
	// fences counts, by node, how often one got a slot.
	fences   map[string]int
	overlaps []string
}

// round goes through all versions up to the end of a round: this many records are deleted, and
// the ledger is empty.
func (s *slotWatch) round(ctx context.Context, records int) (seenRound, error) {
	var all []version
	for gone, empty := 0, false; gone < records || !empty; {
		select {
		case v := <-s.seen:
			if v.err != nil {
				return seenRound{}, v.err
			}
			if v.gone {
				gone++
			}
			empty = empty || v.ledger != nil && v.ledger.Status.Leases.ObservedAt == nil
			all = append(all, v)
		case <-ctx.Done():
			return seenRound{}, fmt.Errorf("wait for the end of the round to be seen: %w", ctx.Err())
		}
	}
	slices.SortFunc(all, func(a, b version) int { return cmp.Compare(a.at, b.at) })
	return replay(all), nil
}

// replay reports for each moment which fences hold a slot: fences that run, and reserved ones
// that have not begun. A reservation whose fence is over does not count, but the ledger itself
// never has more than one either.
func replay(all []version) seenRound {
	out := seenRound{fences: map[string]int{}}
	open, reserved := map[string]*api.NodeFence{}, []api.Reservation(nil)
	var before []string
	for _, v := range all {
		if v.ledger != nil {
			out.ledgers++
			reserved = v.ledger.Status.Reservations
			if len(reserved) > 1 {
				out.overlaps = append(out.overlaps, fmt.Sprintf("at revision %d the ledger has %d reservations: %v", v.at, len(reserved), reserved))
			}
		} else {
			out.records++
			old := open[v.fence.Name]
			if open[v.fence.Name] = v.fence; v.gone {
				delete(open, v.fence.Name)
			} else if v.fence.CurrentPhase().HoldsSlot() && (old == nil || !old.CurrentPhase().HoldsSlot()) {
				out.fences[v.fence.Name]++
			}
		}
		now := holders(open, reserved)
		if len(now) > 1 && !slices.Equal(now, before) {
			out.overlaps = append(out.overlaps, fmt.Sprintf("at revision %d slots are held by %v, allowed is 1", v.at, now))
		}
		before = now
	}
	return out
}

func holders(open map[string]*api.NodeFence, reserved []api.Reservation) []string {
	all := map[string]bool{}
	for name, f := range open {
		if f.CurrentPhase().HoldsSlot() {
			all[name] = true
		}
	}
	for _, r := range reserved {
		if f := open[r.NodeName]; f != nil && f.UID == r.FenceUID && f.Status.FenceNumber == r.FenceNumber && f.CurrentPhase() == api.Pending {
			all[r.NodeName] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
