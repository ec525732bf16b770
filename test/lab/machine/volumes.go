package machine

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// volume is one of the lab's driver in a pod.
type volume struct {
	handle string
	object string // the PersistentVolume
	// exclusive is whether the pod writes to it and two machines may not.
	exclusive bool
}

func (v volume) uniqueName() corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName("kubernetes.io/csi/" + driver + "^" + v.handle)
}

// resolve finds the volumes of a pod's claims; ok is whether each claim has one.
func (k *kubelet) resolve(pod *corev1.Pod) (all []volume, ok bool) {
	for _, v := range pod.Spec.Volumes {
		claim, readOnly := claimOf(pod, v)
		if claim == "" {
			continue
		}
		object := k.volumeOf(pod.Namespace, claim)
		if object == nil {
			return nil, false
		}
		csi := object.Spec.CSI
		if csi == nil || csi.Driver != driver {
			continue
		}
		shared := slices.Contains(object.Spec.AccessModes, corev1.ReadWriteMany)
		all = append(all, volume{handle: csi.VolumeHandle, object: object.Name, exclusive: !shared && !readOnly && !csi.ReadOnly})
	}
	return all, true
}

func claimOf(pod *corev1.Pod, v corev1.Volume) (claim string, readOnly bool) {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName, v.PersistentVolumeClaim.ReadOnly
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name, false
	}
	return "", false
}

func (k *kubelet) volumeOf(namespace, claim string) *corev1.PersistentVolume {
	c, err := k.cluster.see().claims.PersistentVolumeClaims(namespace).Get(claim)
	if err != nil || c.Spec.VolumeName == "" {
		return nil
	}
	object, err := k.cluster.see().volumes.Get(c.Spec.VolumeName)
	if err != nil {
		return nil
	}
	return object
}

// mountable is whether all claims have volumes and these are said to be in use
// and attached, by the driver and by the controller.
func (k *kubelet) mountable(local *localPod) bool {
	for _, v := range local.volumes {
		if !slices.Contains(k.reported.inUse, v.uniqueName()) || !k.attached(v) {
			return false
		}
	}
	return local.resolved
}

func (k *kubelet) attached(v volume) bool {
	node, err := k.cluster.see().nodes.Get(k.machine.name)
	if err != nil || !slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == v.uniqueName() }) {
		return false
	}
	attachments, err := k.cluster.see().attach.List(labels.Everything())
	if err != nil {
		return false
	}
	for _, a := range attachments {
		name := a.Spec.Source.PersistentVolumeName
		if a.Spec.NodeName == k.machine.name && name != nil && *name == v.object {
			return a.Status.Attached && a.DeletionTimestamp == nil
		}
	}
	return false
}

func (k *kubelet) inUse() []corev1.UniqueVolumeName {
	var all []corev1.UniqueVolumeName
	for _, local := range k.pods {
		for _, v := range local.volumes {
			all = append(all, v.uniqueName())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
