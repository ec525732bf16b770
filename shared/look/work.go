package look

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// mirrorAnnotation marks the API's image of a static pod.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// leftOf applies the pod rule (S24: pods that are not the node's work are left alone). It
// selects every pod for deletion except those that belong to the node itself: mirror pods,
// pods of a DaemonSet, and pods that tolerate the out-of-service taint. A pod that has ended
// and is not being deleted keeps no controller waiting, and is left to Kubernetes.
//
// A pod is gone once the API server has it no more. A pod that is being deleted and has ended
// keeps its StatefulSet waiting, so it is deleted too.
func leftOf(pods []corev1.Pod, as api.OutOfServiceValue) *observed.Left {
	var left observed.Left
	for i := range pods {
		p := &pods[i]
		switch {
		case !ours(p, as):
		case forced(p) && ended(p):
			left.Terminating++
			left.Names = append(left.Names, "pod "+p.Namespace+"/"+p.Name+" (finalizer "+strings.Join(p.Finalizers, ", ")+")")
		default:
			left.Delete = append(left.Delete, observed.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Ready: podReady(p), Finalizers: p.Finalizers, Ended: ended(p)})
		}
	}
	return &left
}

// forced pods were deleted without a grace period: only finalizers keep their objects.
func forced(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
}

// ended pods hold no volume.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func ours(p *corev1.Pod, as api.OutOfServiceValue) bool { return TheWork(p) && !tolerates(p, as) }

// TheWork reports whether a pod is work that the node was given, and does not belong to the
// node itself. A pod that has ended is work only while it is being deleted.
func TheWork(p *corev1.Pod) bool {
	if ended(p) && p.DeletionTimestamp == nil {
		return false
	}
	if _, mirror := p.Annotations[mirrorAnnotation]; mirror {
		return false
	}
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == "DaemonSet" {
		return false
	}
	return true
}

func tolerates(p *corev1.Pod, as api.OutOfServiceValue) bool {
	taint := corev1.Taint{Key: api.OutOfServiceTaint, Value: string(as), Effect: corev1.TaintEffectNoExecute}
	for _, t := range p.Spec.Tolerations {
		if t.Effect != "" && t.Effect != taint.Effect {
			continue
		}
		if t.Key != "" && t.Key != taint.Key {
			continue
		}
		if t.Operator == corev1.TolerationOpExists || (t.Key == taint.Key && t.Value == taint.Value) {
			return true
		}
	}
	return false
}
