package look

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhichPodsLeave: those that kubectl drain evicts, in a stable order, and none that was made after
// the node was isolated: it tolerates that, and would come back for ever.
func TestWhichPodsLeave(t *testing.T) {
	isolated := time.Date(2026, 1, 1, 12, 0, 10, 500_000_000, time.UTC)
	yes, at := true, observed.StampOf(isolated)
	pod := func(name string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(isolated.Add(-time.Hour))}}
		change(&p)
		return p
	}
	made := func(after time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(isolated.Truncate(time.Second).Add(after)) }
	}
	pods := []corev1.Pod{
		pod("z-plain", func(*corev1.Pod) {}),
		pod("a-owned", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: &yes}}
		}),
		pod("daemon", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
		}),
		pod("mirror", func(p *corev1.Pod) { p.Annotations = map[string]string{"kubernetes.io/config.mirror": "x"} }),
		pod("done", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
		pod("failed-and-forced", func(p *corev1.Pod) {
			p.Status.Phase, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = corev1.PodFailed, &metav1.Time{Time: isolated}, new(int64)
		}),
		pod("ended-and-leaving", func(p *corev1.Pod) {
			p.Status.Phase, p.DeletionTimestamp = corev1.PodFailed, &metav1.Time{Time: isolated}
		}),
		pod("leaving", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: isolated} }),
		pod("same-second", made(0)),
		pod("later", made(time.Second)),
	}
	names := func(on *observed.Draining) []string { return append(on.Names(), on.Leaving...) }
	if d := cmp.Diff([]string{"n/a-owned", "n/same-second", "n/z-plain", "n/ended-and-leaving", "n/leaving"}, names(drainingOf(pods, &at))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"n/a-owned", "n/later", "n/same-second", "n/z-plain", "n/ended-and-leaving", "n/leaving"}, names(drainingOf(pods, nil))); d != "" {
		t.Errorf("before it is isolated: %s", d)
	}
}
