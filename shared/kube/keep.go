package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func (m *marks) annotate(key string, placed bool) {
	if m.annotations == nil {
		m.annotations = map[string]bool{}
	}
	m.annotations[key] = placed
}

// karpenterPool is on the nodes of Karpenter, and of EKS Auto Mode.
const karpenterPool = "karpenter.sh/nodepool"

// keepWords are the annotations by which a node's autoscalers leave it alone.
func keepWords(labels map[string]string) []string {
	if _, karpenters := labels[karpenterPool]; karpenters {
		return []string{api.ScaleDownDisabled, api.DoNotDisrupt}
	}
	return []string{api.ScaleDownDisabled}
}

// ourKeepWords are those of them that stand and were written by nodefence, whatever
// labels the node has now (S22).
func ourKeepWords(annotations map[string]string, fields []metav1.ManagedFieldsEntry) []string {
	var ours []string
	for _, word := range []string{api.ScaleDownDisabled, api.DoNotDisrupt} {
		if annotations[word] == "true" && isOurs(fields, `"f:`+word+`"`) {
			ours = append(ours, word)
		}
	}
	return ours
}
