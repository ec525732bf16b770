package look

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/fence"
)

// budgets says of each pod that is to be deleted which disruption budgets it
// counts for. Eviction asks no budget for a pod that is not running yet or is
// being deleted already.
func (c work) budgets(ctx context.Context, left *fence.Left, pods []corev1.Pod) error {
	all, err := c.Client.DisruptionBudgets(ctx)
	if err != nil {
		return err
	}
	byUID := map[types.UID]*corev1.Pod{}
	for i := range pods {
		byUID[pods[i].UID] = &pods[i]
	}
	left.Budgets = map[string]fence.Disruption{}
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

// disruption is what the budget says. Numbers that are not of its present spec
// allow nothing.
func disruption(b *policyv1.PodDisruptionBudget) fence.Disruption {
	d := fence.Disruption{Allowed: b.Status.DisruptionsAllowed, Healthy: b.Status.CurrentHealthy, Wanted: b.Status.DesiredHealthy}
	if b.Status.ObservedGeneration < b.Generation {
		d.Allowed = 0
	}
	if how := b.Spec.UnhealthyPodEvictionPolicy; how != nil {
		d.UnreadyFree = *how == policyv1.AlwaysAllow
	}
	return d
}
