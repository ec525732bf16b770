package slim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// TestSlimOnceIsSlimTwice: an informer may pass a slim object through the transform again,
// which must lose nothing.
func TestSlimOnceIsSlimTwice(t *testing.T) {
	at := metav1.NewTime(time.Unix(1e9, 0))
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e", ManagedFields: []metav1.ManagedFieldsEntry{{Time: &at}}},
		Reason:     "OOMKilling", Message: "words", Source: corev1.EventSource{Component: "kubelet", Host: "a"}, LastTimestamp: at,
	}
	for name, c := range map[string]struct {
		slim func(any) (any, error)
		of   runtime.Object
	}{
		"enrolment": {Enrolment, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "fence-enrolled-a", Labels: map[string]string{kube.EnrolledLabel: "true"}, Annotations: map[string]string{GoneSince: "x"}},
			Data:       map[string]string{"node_uid": "u"},
		}},
		"node":           {Node, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"node-role.kubernetes.io/etcd": "true"}, Annotations: map[string]string{api.OutOfServiceBy: "f"}}}},
		"policy":         {Policy, &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{MissingNodes: &api.MissingNodesRule{NodeNames: []string{"a"}}}}},
		"node's problem": {Report, event.DeepCopy()},
		"pod's problem":  {PodReport, event.DeepCopy()},
		"target":         {Target, &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: api.FenceTargetStatus{Binding: &api.TargetBinding{ConfigsVersion: "v", Refused: "words"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			once, err := c.slim(c.of)
			if err != nil {
				t.Fatal(err)
			}
			twice, err := c.slim(once.(runtime.Object).DeepCopyObject())
			if d := cmp.Diff(once, twice); d != "" || err != nil {
				t.Error(err, d)
			}
		})
	}
}
