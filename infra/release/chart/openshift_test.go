package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

// TestOnOpenShiftPodsTakeAnyUser: its SCC restricted-v2 refuses pods that name one. Nothing else
// differs: they still may not be root.
func TestOnOpenShiftPodsTakeAnyUser(t *testing.T) {
	c := loaded(t)
	for _, platform := range manifests.Platforms {
		values := "platform: " + platform + "\ncomponents: {far: {enabled: true}, kdump: {enabled: true}}\n"
		plain, err := render(c, "default", values)
		must(t, err)
		got, err := render(c, "default", values+"openshift: true")
		must(t, err)
		parts := 0
		for _, o := range plain {
			pod, is, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
			if !is {
				continue
			}
			if user, _, _ := unstructured.NestedFieldNoCopy(pod, "securityContext", "runAsUser"); user != 65532.0 {
				t.Errorf("%s without the value: user %v", manifests.ID(o), user)
			}
			unstructured.RemoveNestedField(o.Object, "spec", "template", "spec", "securityContext", "runAsUser")
			if may, _, _ := unstructured.NestedBool(pod, "securityContext", "runAsNonRoot"); !may {
				t.Errorf("%s may be root", manifests.ID(o))
			}
			parts++
		}
		if parts != 12 {
			t.Errorf("%s: %d workloads, want nine functions, adopt, kdump and the source", platform, parts)
		}
		if d := cmp.Diff(byID(t, plain), byID(t, got)); d != "" {
			t.Errorf("%s, without (-) and with (+) openshift:\n%s", platform, d)
		}
	}
}
