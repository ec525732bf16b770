package cleanup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/fence"
)

func TestAttachments(t *testing.T) {
	now, pv := metav1.Now(), "pv-1"
	for name, c := range map[string]struct {
		change func(*storagev1.VolumeAttachment)
		used   map[string]bool
		want   fence.Left
	}{
		"is waited for, and its driver named": {func(*storagev1.VolumeAttachment) {}, nil,
			fence.Left{Attachments: 1, Names: []string{"volume pv-1 (CSI driver csi.example.com)"}}},
		"its driver's own words are repeated": {func(a *storagev1.VolumeAttachment) {
			a.Status.DetachError = &storagev1.VolumeError{Message: "no such array"}
		}, nil, fence.Left{Attachments: 1, Names: []string{`volume pv-1 (CSI driver csi.example.com: "no such array")`}}},
		"without a user it is to be detached": {func(*storagev1.VolumeAttachment) {}, map[string]bool{"pv-2": true},
			fence.Left{Attachments: 1, Names: []string{"volume pv-1 (CSI driver csi.example.com)"}, Detach: []fence.Attachment{{Name: "a", UID: "u"}}}},
		"with a user it stays": {func(*storagev1.VolumeAttachment) {}, map[string]bool{"pv-1": true},
			fence.Left{Attachments: 1, Names: []string{"volume pv-1 (CSI driver csi.example.com)"}}},
		"what goes already is not asked again": {func(a *storagev1.VolumeAttachment) { a.DeletionTimestamp = &now }, map[string]bool{},
			fence.Left{Attachments: 1, Names: []string{"volume pv-1 (CSI driver csi.example.com)"}}},
		"a volume within a pod's spec is Kubernetes' own": {func(a *storagev1.VolumeAttachment) { a.Spec.Source.PersistentVolumeName = nil }, map[string]bool{},
			fence.Left{Attachments: 1, Names: []string{"volume a (CSI driver csi.example.com)"}}},
	} {
		a := storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}, Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "csi.example.com", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}}
		c.change(&a)
		var got fence.Left
		attachments(&got, []storagev1.VolumeAttachment{a}, c.used)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestClaimsOfAPod(t *testing.T) {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}}}
	if d := cmp.Diff([]string{"c", "p-scratch"}, claims(&p)); d != "" {
		t.Error(d)
	}
	p.Status.Phase = corev1.PodSucceeded
	if got := claims(&p); got != nil {
		t.Errorf("a pod that ended uses %q", got)
	}
}

func TestBudgetsCountPods(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Labels: map[string]string{"app": "db"}}}
	all, always := metav1.LabelSelector{}, policyv1.AlwaysAllow
	for name, c := range map[string]struct {
		namespace string
		selector  *metav1.LabelSelector
		want      bool
	}{
		"by label":                   {"a", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, true},
		"an empty selector all":      {"a", &all, true},
		"none without a selector":    {"a", nil, false},
		"none of another namespace":  {"b", &all, false},
		"none of another label":      {"a", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, false},
		"none by what can't be read": {"a", &metav1.LabelSelector{MatchLabels: map[string]string{"a b": ""}}, false},
	} {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: c.selector}}
		if got := counts(b, pod); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Spec:   policyv1.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: &always},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 2, DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2}}
	want := fence.Disruption{Allowed: 1, Healthy: 3, Wanted: 2, UnreadyFree: true}
	if d := cmp.Diff(want, disruption(b)); d != "" {
		t.Error(d)
	}
	b.Status.ObservedGeneration, want.Allowed = 1, 0
	if d := cmp.Diff(want, disruption(b)); d != "" {
		t.Errorf("numbers of an older spec:\n%s", d)
	}
}
