package apiserver

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// The hold on a fence may end without an event for the fence: somebody corrects a policy,
// lifts a stop, or the last node of a storm becomes healthy. After each such change, the
// fences that wait with the gate are looked at again soon, one after the other, so that a
// thousand of them cause no burst.

// changed makes the fences that wait with the gate due soon.
func (s *Source) changed() { s.due.Unhold(s.now()) }

// ledgerSeen evaluates each read of the ledger: what a person sets in it, and the storms.
func (s *Source) ledgerSeen(l *api.FenceLedger) {
	var storms []string
	for _, x := range l.Status.Storms {
		storms = append(storms, fmt.Sprint(x.Policy, "/", x.Domain, x.CoolDownUntil != nil))
	}
	slices.Sort(storms)
	is := fmt.Sprintf("%v %+v %+v %+v %d %v", l.Spec.Stop, l.Spec.RestoreConfirmed, l.Spec.CoolDownEnded, l.Spec.Lost, l.Spec.CheckLimit(), storms)
	s.due.Heard(is, s.now())
	stop, _ := admission.Stopped(l)
	s.targets.stopped(stop != "")
	s.gauges.Ledger(l)
}

// budgetWatch wakes the fences that a FenceBudget holds.
func (s *Source) budgetWatch() watched {
	return watched{
		gv: api.GroupVersion, path: "/apis", resource: budgets, name: budgets, selector: fields.Everything(), of: &api.FenceBudget{},
		slim: slim.Budget, handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { s.counting.Budget(nameOf(obj), obj.(*api.FenceBudget)) },
			UpdateFunc: func(old, obj any) {
				s.counting.Budget(nameOf(obj), obj.(*api.FenceBudget))
				if old.(*api.FenceBudget).Generation != obj.(*api.FenceBudget).Generation {
					s.changed()
				}
			},
			DeleteFunc: func(obj any) {
				s.counting.Budget(nameOf(obj), nil)
				s.changed()
			},
		},
	}
}

func (s *Source) watchBudgets(ctx context.Context, scheme *runtime.Scheme) error {
	_, err := s.watch(ctx, scheme, s.budgetWatch())
	return err
}
