package look

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The machine may still run: only its storage is cut. So only pods are released all of
// whose writable volumes are known to be cut. If that is unknown, the pod stays (S1: no
// release without a proof).

// covering separates what a cut covers from what stays.
type covering struct {
	work
	cover    *api.Coverage
	attached []storagev1.VolumeAttachment
	left     *observed.Left
}

// covered returns the pods and attachments that the cut covers, and records which pods
// stay, and the volumes of the pods that don't.
func (c work) covered(ctx context.Context, cover *api.Coverage, pods []corev1.Pod, attached []storagev1.VolumeAttachment, as api.OutOfServiceValue) (
	minePods []corev1.Pod, mine []storagev1.VolumeAttachment, left *observed.Left, err error) {
	k := covering{work: c, cover: cover, attached: attached, left: &observed.Left{}}
	var kept []corev1.Pod
	for i := range pods {
		ok := false
		if ours(&pods[i], as) {
			if ok, err = k.all(ctx, &pods[i]); err != nil {
				return nil, nil, nil, err
			}
			if !ok {
				k.left.Stay = append(k.left.Stay, pods[i].Namespace+"/"+pods[i].Name)
			}
		}
		if ok {
			minePods = append(minePods, pods[i])
		} else {
			kept = append(kept, pods[i])
		}
	}
	_, _, used, err := c.storage(ctx, nil, kept, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	if mine, err = k.unused(ctx, used); err != nil {
		return nil, nil, nil, err
	}
	return minePods, mine, k.left, nil
}

// unused returns the attachments of covered volumes that no staying pod uses, and records
// their volumes.
func (k *covering) unused(ctx context.Context, used map[string]bool) (mine []storagev1.VolumeAttachment, err error) {
	for _, a := range k.attached {
		name := a.Spec.Source.PersistentVolumeName
		if name == nil {
			continue // a volume in a pod's own spec has no class and no driver's volume
		}
		if used[*name] {
			continue // used by a pod that stays
		}
		pv, err := k.Client.PersistentVolume(ctx, *name)
		if err != nil {
			return nil, err
		}
		if pv != nil && k.covers(pv) {
			k.note(pv)
			mine = append(mine, a)
		}
	}
	return mine, nil
}

// all reports whether all writable volumes of a pod are covered. A pod without any stays:
// nothing of it was cut, and it may write elsewhere.
func (k *covering) all(ctx context.Context, p *corev1.Pod) (bool, error) {
	var volumes []*corev1.PersistentVolume
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		claim := ""
		switch {
		case private(v) || v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly:
			continue
		case v.PersistentVolumeClaim != nil:
			claim = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			claim = p.Name + "-" + v.Name
		default:
			return false, nil // the node's own files, or storage without a class
		}
		pv, err := k.volume(ctx, p.Namespace, claim)
		if err != nil || pv == nil || !k.covers(pv) {
			return false, err
		}
		volumes = append(volumes, pv)
	}
	for _, pv := range volumes {
		k.note(pv)
	}
	return len(volumes) > 0, nil
}

// private volumes disappear with their pod, or the pod never writes to them.
func private(v *corev1.Volume) bool {
	return v.EmptyDir != nil || v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil
}

func (k *covering) volume(ctx context.Context, namespace, claim string) (*corev1.PersistentVolume, error) {
	pvc, err := k.Client.PersistentVolumeClaim(ctx, namespace, claim)
	if err != nil || pvc == nil || pvc.Spec.VolumeName == "" {
		return nil, err
	}
	return k.Client.PersistentVolume(ctx, pvc.Spec.VolumeName)
}

// covers compares the volume's own class and driver, because a claim is written by its
// user.
func (k *covering) covers(pv *corev1.PersistentVolume) bool {
	if s := pv.Spec.StorageClassName; s != "" && slices.Contains(k.cover.StorageClassNames, s) {
		return true
	}
	return pv.Spec.CSI != nil && slices.Contains(k.cover.CSIDriverNames, pv.Spec.CSI.Driver)
}

// note records the volume by the kubelet's name for a volume in use. Volumes that
// Kubernetes does not attach are never in volumesInUse.
func (k *covering) note(pv *corev1.PersistentVolume) {
	known := pv.Spec.CSI != nil && slices.ContainsFunc(k.attached, func(a storagev1.VolumeAttachment) bool {
		return a.Spec.Source.PersistentVolumeName != nil && *a.Spec.Source.PersistentVolumeName == pv.Name
	})
	if !known {
		k.left.Hidden = true
		return
	}
	name := "kubernetes.io/csi/" + pv.Spec.CSI.Driver + "^" + pv.Spec.CSI.VolumeHandle
	if !slices.Contains(k.left.Volumes, name) {
		k.left.Volumes = append(k.left.Volumes, name)
	}
}
