package machine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

const annotationProvisioner = "pv.kubernetes.io/provisioned-by"

// handleClaim makes a volume for each claim of the lab's class.
func (c *cluster) handleClaim(ctx context.Context, key string) (time.Duration, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return 0, fmt.Errorf("split key: %w", err)
	}
	claim, err := c.see().claims.PersistentVolumeClaims(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get claim: %w", err)
	}
	class := claim.Spec.StorageClassName
	if class == nil || *class != storageClass || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
		return 0, nil
	}
	_, err = c.client.CoreV1().PersistentVolumes().Create(ctx, volumeFor(claim), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return 0, fmt.Errorf("create volume: %w", err)
	}
	return 0, nil
}

func volumeFor(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	name := "pvc-" + string(claim.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationProvisioner: driver}},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              storageClass,
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			Capacity:                      claim.Spec.Resources.Requests,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name},
			},
			// With the UID, so that a later claim of this name doesn't get it.
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		},
	}
}

// handleVolume deletes a volume that its claim has left behind, once detached.
func (c *cluster) handleVolume(ctx context.Context, name string) (time.Duration, error) {
	v, err := c.see().volumes.Get(name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get volume: %w", err)
	}
	if v.Annotations[annotationProvisioner] != driver || v.Status.Phase != corev1.VolumeReleased || v.DeletionTimestamp != nil {
		return 0, nil
	}
	attachments, err := c.see().attach.List(labels.Everything())
	if err != nil {
		return 0, fmt.Errorf("list attachments: %w", err)
	}
	for _, a := range attachments {
		if a.Spec.Source.PersistentVolumeName != nil && *a.Spec.Source.PersistentVolumeName == name {
			return time.Second, nil
		}
	}
	if err := c.client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return 0, fmt.Errorf("delete volume: %w", err)
	}
	return 0, nil
}
