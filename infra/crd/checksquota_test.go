package crd_test

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestTheQuotaOfChecksIsTheLimitOfTheLedger: the namespace of checks takes as many pods with a deadline as the
// FenceLedger allows Jobs of checks where nobody sets it.
func TestTheQuotaOfChecksIsTheLimitOfTheLedger(t *testing.T) {
	text, err := os.ReadFile("../namespaces/namespaces.yaml")
	if err != nil {
		t.Fatal(err)
	}
	quotas := 0
	for _, doc := range strings.Split(string(text), "\n---\n") {
		var q corev1.ResourceQuota
		if err := yaml.Unmarshal([]byte(doc), &q); err != nil || q.Kind != "ResourceQuota" {
			continue
		}
		quotas++
		pods := q.Spec.Hard[corev1.ResourcePods]
		if q.Namespace != "nodefence-checks" || pods.Value() != int64(api.FenceLedgerSpec{}.CheckLimit()) || len(q.Spec.Scopes) != 1 || q.Spec.Scopes[0] != corev1.ResourceQuotaScopeTerminating {
			t.Errorf("%s: %+v", q.Namespace, q.Spec)
		}
	}
	if quotas != 1 {
		t.Errorf("%d quotas", quotas)
	}
}
