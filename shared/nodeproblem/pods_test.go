package nodeproblem

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// onePod is a node with one Pod, shop/web-0, and one Event about it.
type onePod struct{ of corev1.Event }

func (o onePod) PodEvents(context.Context, string) ([]corev1.Event, error) {
	return []corev1.Event{o.of}, nil
}
func (o onePod) PodsOn(context.Context, string) ([]corev1.Pod, error) {
	return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "pod-1"}}}, nil
}
func (onePod) NodeEvents(context.Context, string) ([]corev1.Event, error) { return nil, nil }
func (onePod) Fences(context.Context) ([]api.NodeFence, error)            { return nil, nil }
func (onePod) Node(context.Context, string) (*corev1.Node, error)         { return nil, nil }

// TestAPodIsSpokenForInItsNamespace: a user who may write Events in another namespace can
// name any Pod by its UID, and must not cause a fence by that (S18: no event is believed).
func TestAPodIsSpokenForInItsNamespace(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for namespace, want := range map[string]int64{"shop": 1, "elsewhere": 0} {
		ev := corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "e", CreationTimestamp: metav1.NewTime(now.Add(-time.Second))},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "web-0", UID: "pod-1"},
			Reason:         "FailedMount", Source: corev1.EventSource{Component: "kubelet", Host: "n"}, Type: corev1.EventTypeWarning, Count: 1,
		}
		problem := Rule{About: api.AboutPod, Reason: "FailedMount", Count: 1, Within: time.Minute}
		got, err := Reported(t.Context(), onePod{ev}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, problem, nil, now)
		if err != nil || got.Times != want {
			t.Errorf("written in %s: counted %d times, %v", namespace, got.Times, err)
		}
	}
}
