package jobs

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// unfit is the error for a template from which no Job is made.
type unfit struct{ why string }

func (u *unfit) Error() string { return u.why }

// harmless refuses volumes that a check must not have: a block volume, or a volume that
// only one node at a time may mount, because the mount would take the volume from its
// owner.
func (r CheckRunner) harmless(ctx context.Context, spec *corev1.PodSpec) error {
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
		if err := r.sharedClaim(ctx, v.PersistentVolumeClaim.ClaimName); err != nil {
			return err
		}
	}
	return nil
}

// sharedClaim refuses a claim unless it is a file system that many nodes may mount at once.
func (r CheckRunner) sharedClaim(ctx context.Context, name string) error {
	c, err := r.Client.PersistentVolumeClaim(ctx, r.Namespace, name)
	if err != nil {
		return err
	}
	if c == nil {
		return &unfit{"there is no PersistentVolumeClaim " + name + " in namespace " + r.Namespace}
	}
	if c.Spec.VolumeMode != nil && *c.Spec.VolumeMode != corev1.PersistentVolumeFilesystem {
		return &unfit{"claim " + c.Name + " is a block volume: a check never mounts one"}
	}
	for _, m := range c.Spec.AccessModes {
		if m != corev1.ReadWriteMany && m != corev1.ReadOnlyMany {
			return &unfit{"claim " + c.Name + " is " + string(m) + ": a check mounts only what many nodes may mount at once (ReadWriteMany, ReadOnlyMany)"}
		}
	}
	return nil
}
