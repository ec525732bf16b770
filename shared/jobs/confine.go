package jobs

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// limits are for a container that has none.
var limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}

// confine makes the pod run once, with no rights, and on none of these nodes.
func confine(spec *corev1.PodSpec, nodes ...string) {
	yes, no := true, false
	spec.RestartPolicy, spec.NodeName, spec.Tolerations = corev1.RestartPolicyNever, "", nil
	spec.ServiceAccountName, spec.DeprecatedServiceAccount, spec.AutomountServiceAccountToken = "", "", &no
	spec.HostNetwork, spec.HostPID, spec.HostIPC = false, false, false
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	spec.SecurityContext.RunAsNonRoot = &yes
	spec.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	for i := range spec.InitContainers {
		confineContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		confineContainer(&spec.Containers[i])
	}
	keepOff(spec, nodes)
}

func confineContainer(c *corev1.Container) {
	yes, no := true, false
	user := (*int64)(nil)
	if c.SecurityContext != nil {
		user = c.SecurityContext.RunAsUser
	}
	c.SecurityContext = &corev1.SecurityContext{
		RunAsUser: user, RunAsNonRoot: &yes, ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if c.Resources.Limits == nil {
		c.Resources.Limits = limits.DeepCopy()
	}
}

// keepOff keeps the pod off nodes. The pod may already have several terms that choose
// nodes, of which any one is enough, so each term is extended.
func keepOff(spec *corev1.PodSpec, nodes []string) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	a := spec.Affinity.NodeAffinity
	if a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	terms := a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		for _, n := range nodes { // a field selector takes one value
			terms[i].MatchFields = append(terms[i].MatchFields, corev1.NodeSelectorRequirement{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{n},
			})
		}
	}
}
