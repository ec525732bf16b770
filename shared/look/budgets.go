package look

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/fence/observed"
)

// budgets lists, for each pod to be deleted, the disruption budgets that count it. An
// eviction of a pod that does not run yet, or is already being deleted, is not subject to
// budgets.
func (c work) budgets(ctx context.Context, left *observed.Left, pods []corev1.Pod) error {
	all, err := c.Client.DisruptionBudgets(ctx)
	if err != nil {
		return err
	}
	byUID := map[types.UID]*corev1.Pod{}
	for i := range pods {
		byUID[pods[i].UID] = &pods[i]
	}
	left.Budgets = map[string]observed.Disruption{}
	for i := range left.Delete {
		p := byUID[left.Delete[i].UID]
		if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodPending {
			continue
		}
		for _, b := range all {
			if counts(&b, p) {
				name := b.Namespace + "/" + b.Name
				left.Budgets[name] = disruption(&b)
				left.Delete[i].Budgets = append(left.Delete[i].Budgets, name)
			}
		}
	}
	return nil
}

func counts(b *policyv1.PodDisruptionBudget, p *corev1.Pod) bool {
	sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return b.Namespace == p.Namespace && err == nil && sel.Matches(labels.Set(p.Labels))
}

// disruption is the budget's present state. If its numbers belong to an older spec, it
// allows no disruption.
func disruption(b *policyv1.PodDisruptionBudget) observed.Disruption {
	d := observed.Disruption{Allowed: b.Status.DisruptionsAllowed, Healthy: b.Status.CurrentHealthy, Wanted: b.Status.DesiredHealthy}
	if b.Status.ObservedGeneration < b.Generation {
		d.Allowed = 0
	}
	if how := b.Spec.UnhealthyPodEvictionPolicy; how != nil {
		d.UnreadyFree = *how == policyv1.AlwaysAllow
	}
	return d
}
