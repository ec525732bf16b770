package apiserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// What holds a fence ends without a word to it: somebody mends a policy, lifts a stop, or
// the last node of a storm heals. The fences that wait with the gate are looked at again
// soon after each such change, one after the other, so that a thousand of them are no
// storm of their own.

const budgets = "fencebudgets"

const (
	// hurryAfter lets changes that come together be one.
	hurryAfter = 300 * time.Millisecond
	// hurryPace lies between two fences that are woken for one change, and as many times
	// that, but hurryGap at least, between two wake-ups of one fence.
	hurryPace = 50 * time.Millisecond
	hurryGap  = 2 * time.Second
)

// unhold has all fences that wait looked at soon; called with the lock held.
func (s *Source) unhold() {
	if s.due == nil {
		return
	}
	s.due.hurryAll(s.now())
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// changed is unhold for what is not heard of with the lock held.
func (s *Source) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unhold()
}

// hurryAll has each fence that waits with the gate be due soon, unless it is sooner.
func (d *dueList) hurryAll(now time.Time) {
	var waits []*due
	for _, x := range d.byNode {
		if x.fence.CurrentPhase() == api.Pending {
			waits = append(waits, x)
		}
	}
	slices.SortFunc(waits, func(a, b *due) int { return strings.Compare(a.fence.Spec.NodeName, b.fence.Spec.NodeName) })
	gap := max(hurryGap, time.Duration(len(waits))*hurryPace)
	for i, x := range waits {
		at := now.Add(hurryAfter + time.Duration(i)*hurryPace)
		if again := x.hurried.Add(gap); at.Before(again) {
			at = again
		}
		if x.hurry.IsZero() || at.Before(x.hurry) {
			x.hurry = at
		}
	}
}

// ledgerSeen hears of the ledger now and then: what a person sets there, and the storms.
func (s *Source) ledgerSeen(l *api.FenceLedger) {
	var storms []string
	for _, x := range l.Status.Storms {
		storms = append(storms, fmt.Sprint(x.Policy, "/", x.Domain, x.CoolDownUntil != nil))
	}
	slices.Sort(storms)
	is := fmt.Sprintf("%v %+v %+v %v", l.Spec.Stop, l.Spec.RestoreConfirmed, l.Spec.CoolDownEnded, storms)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ledger != "" && s.ledger != is {
		s.unhold()
	}
	s.ledger = is
	stop, _ := admission.Stopped(l)
	s.stopped(stop != "")
}

// budgetWatch is for the fences that a FenceBudget holds.
func (s *Source) budgetWatch() watched {
	return watched{
		gv: api.GroupVersion, path: "/apis", resource: budgets, name: budgets, selector: fields.Everything(), of: &api.FenceBudget{},
		slim: slimBudget, handler: cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(old, obj any) {
				if old.(*api.FenceBudget).Generation != obj.(*api.FenceBudget).Generation {
					s.changed()
				}
			},
			DeleteFunc: func(any) { s.changed() },
		},
	}
}

func (s *Source) watchBudgets(ctx context.Context, scheme *runtime.Scheme) error {
	_, err := s.watch(ctx, scheme, s.budgetWatch())
	return err
}
