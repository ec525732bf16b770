package checkjobs

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unfit is a template that no Job is made of.
type unfit struct{ why string }

func (u *unfit) Error() string { return u.why }

// limits are a check's own, where it has none.
var limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}

// harmless refuses what a check must not have: a block volume, or a volume that
// one node at a time may mount, whose mount here would take it from its owner.
func (r Runner) harmless(ctx context.Context, spec *corev1.PodSpec) error {
	if len(spec.Containers) == 0 {
		return &unfit{"the PodTemplate has no container"}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if len(c.VolumeDevices) > 0 {
			return &unfit{"container " + c.Name + " has a block device: a check never mounts one"}
		}
	}
	for _, v := range spec.Volumes {
		if v.ConfigMap != nil || v.Secret != nil || v.EmptyDir != nil || v.DownwardAPI != nil {
			continue
		}
		if v.PersistentVolumeClaim == nil {
			return &unfit{"volume " + v.Name + " is not one that many nodes may mount at once: a configMap, secret, emptyDir, downwardAPI, or a claim"}
		}
		c, err := r.Client.Claim(ctx, r.Namespace, v.PersistentVolumeClaim.ClaimName)
		if err != nil {
			return err
		}
		if c == nil {
			return &unfit{"there is no PersistentVolumeClaim " + v.PersistentVolumeClaim.ClaimName + " in namespace " + r.Namespace}
		}
		if c.Spec.VolumeMode != nil && *c.Spec.VolumeMode != corev1.PersistentVolumeFilesystem {
			return &unfit{"claim " + c.Name + " is a block volume: a check never mounts one"}
		}
		for _, m := range c.Spec.AccessModes {
			if m != corev1.ReadWriteMany && m != corev1.ReadOnlyMany {
				return &unfit{"claim " + c.Name + " is " + string(m) + ": a check mounts only what many nodes may mount at once (ReadWriteMany, ReadOnlyMany)"}
			}
		}
	}
	return nil
}

// harden has the pod run elsewhere, once, and with no rights.
func harden(spec *corev1.PodSpec, node string) {
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
		hardenContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		hardenContainer(&spec.Containers[i])
	}
	away(spec, node)
}

func hardenContainer(c *corev1.Container) {
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

// away keeps the pod off the node that it asks about, which may be chosen by any
// one of the terms that are there already.
func away(spec *corev1.PodSpec, node string) {
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
		terms[i].MatchFields = append(terms[i].MatchFields, corev1.NodeSelectorRequirement{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{node},
		})
	}
}
