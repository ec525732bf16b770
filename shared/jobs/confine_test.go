package jobs

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestConfine: what a template asks for beyond a Job's needs is taken from it, and no term
// lets it run on a node in question (S13).
func TestConfine(t *testing.T) {
	yes, root := true, int64(1000)
	spec := &corev1.PodSpec{
		NodeName: "n", HostNetwork: true, ServiceAccountName: "power", RestartPolicy: corev1.RestartPolicyAlways,
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
		Containers: []corev1.Container{{Name: "c", SecurityContext: &corev1.SecurityContext{Privileged: &yes, RunAsUser: &root}}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: "Exists"}}}, {}},
		}}},
	}
	confine(spec, "n", "m")
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, node := range []string{"n", "m"} {
			if !slices.ContainsFunc(term.MatchFields, func(m corev1.NodeSelectorRequirement) bool {
				return cmp.Equal(m, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}})
			}) {
				t.Errorf("a term lets it run on node %s: %+v", node, term)
			}
		}
	}
	c := spec.Containers[0].SecurityContext
	if spec.NodeName != "" || spec.HostNetwork || spec.ServiceAccountName != "" || *spec.AutomountServiceAccountToken || spec.RestartPolicy != corev1.RestartPolicyNever ||
		len(spec.Tolerations) > 0 || c.Privileged != nil || *c.AllowPrivilegeEscalation || !*c.RunAsNonRoot || *c.RunAsUser != 1000 {
		t.Errorf("%+v, %+v", spec, c)
	}
	if len(spec.ImagePullSecrets) != 1 {
		t.Errorf("no image of a private registry is pulled by %v", spec.ImagePullSecrets)
	}
}
