package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhoseACordonIs: a cordon that somebody has applied beside ours is theirs too, and stays (S22).
func TestWhoseACordonIs(t *testing.T) {
	by := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const cordon, taints = `{"f:spec":{"f:unschedulable":{}}}`, `{"f:spec":{"f:taints":{}}}`
	for name, c := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   bool
	}{
		"ours":                          {[]metav1.ManagedFieldsEntry{by("nodefence", cordon)}, true},
		"ours, and others have taints":  {[]metav1.ManagedFieldsEntry{by("nodefence", cordon), by("kubelet", taints)}, true},
		"ours, and a person's":          {[]metav1.ManagedFieldsEntry{by("nodefence", cordon), by("kubectl-fence", cordon)}, false},
		"another's":                     {[]metav1.ManagedFieldsEntry{by("kubectl-cordon", cordon)}, false},
		"nobody's":                      {nil, false},
		"we have taints, they a cordon": {[]metav1.ManagedFieldsEntry{by("nodefence", taints), by("kubectl-cordon", cordon)}, false},
	} {
		if got := CordonIsOurs(c.fields); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
