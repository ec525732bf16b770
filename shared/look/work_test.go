package look

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestThePodRule: a pod is gone once the API server has it no more (S24, S27).
func TestThePodRule(t *testing.T) {
	yes, zero, five := true, int64(0), int64(5)
	now := metav1.Now()
	pod := observed.Pod{Namespace: "default", Name: "p", UID: "u"}
	deleted, finished, kept := observed.Left{Delete: []observed.Pod{pod}}, pod, pod
	finished.Ended, kept.Finalizers = true, []string{"example.com/f"}
	forced := func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Finalizers = &now, &zero, []string{"example.com/f"}
	}
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   observed.Left
	}{
		"an ordinary pod is deleted":       {func(*corev1.Pod) {}, deleted},
		"a terminating pod is deleted too": {func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, &five }, deleted},
		"a pod that only a finalizer holds is waited for": {
			func(p *corev1.Pod) { forced(p); p.Status.Phase = corev1.PodFailed },
			observed.Left{Terminating: 1, Names: []string{"pod default/p (finalizer example.com/f)"}}},
		"a pod that a finalizer holds without a terminal phase is given one": {forced, observed.Left{Delete: []observed.Pod{kept}}},
		"a pod with a finalizer": {func(p *corev1.Pod) { p.Finalizers = kept.Finalizers }, observed.Left{Delete: []observed.Pod{kept}}},
		"a pod that has failed and is being deleted is deleted": {
			func(p *corev1.Pod) {
				p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Status.Phase = &now, &five, corev1.PodFailed
			}, observed.Left{Delete: []observed.Pod{finished}}},
		"a pod that has finished and is being deleted is deleted": {
			func(p *corev1.Pod) {
				p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Status.Phase = &now, &five, corev1.PodSucceeded
			}, observed.Left{Delete: []observed.Pod{finished}}},
		"a failed pod is left to its controller": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, observed.Left{}},
		"a DaemonSet's pod that has failed and is being deleted is left": {
			func(p *corev1.Pod) {
				p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Status.Phase = &now, &five, corev1.PodFailed
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
			}, observed.Left{}},
		"a static pod is left":   {func(p *corev1.Pod) { p.Annotations = map[string]string{mirrorAnnotation: "x"} }, observed.Left{}},
		"a finished pod is left": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, observed.Left{}},
		"a DaemonSet's pod is left": {func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
		}, observed.Left{}},
		"a StatefulSet's pod is deleted": {func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Controller: &yes}}
		}, deleted},
		"a pod that tolerates the taint is left": {func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/out-of-service", Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}}
		}, observed.Left{}},
		"a pod that tolerates everything is left": {func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}, observed.Left{}},
		"a pod that tolerates another value is deleted": {func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/out-of-service", Value: "x", Effect: corev1.TaintEffectNoExecute}}
		}, deleted},
		"a pod that tolerates another effect is deleted": {func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
		}, deleted},
	} {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		c.change(&p)
		if d := cmp.Diff(&c.want, leftOf([]corev1.Pod{p}, api.NodeShutdown)); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}
