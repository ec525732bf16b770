package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PersistentVolumeClaim reads a PersistentVolumeClaim; nil when there is none.
func (c *Client) PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return get[corev1.PersistentVolumeClaim](ctx, c, "/api/v1/namespaces/"+namespace+"/persistentvolumeclaims/"+name)
}

// PersistentVolume reads a PersistentVolume; nil when there is none.
func (c *Client) PersistentVolume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	return get[corev1.PersistentVolume](ctx, c, "/api/v1/persistentvolumes/"+name)
}

// VolumeAttachments reads the volume attachments of a node.
func (c *Client) VolumeAttachments(ctx context.Context, node string) ([]storagev1.VolumeAttachment, error) {
	l, err := list[storagev1.VolumeAttachmentList](ctx, c, "/apis/storage.k8s.io/v1/volumeattachments")
	if err != nil {
		return nil, err
	}
	var mine []storagev1.VolumeAttachment
	for _, a := range l.Items {
		if a.Spec.NodeName == node {
			mine = append(mine, a)
		}
	}
	return mine, nil
}

// DeleteVolumeAttachment deletes exactly this attachment. The object is gone once its driver has
// detached the volume.
func (c *Client) DeleteVolumeAttachment(ctx context.Context, name string, uid types.UID) error {
	return c.deleteObject(ctx, "/apis/storage.k8s.io/v1/volumeattachments/"+name, deletionOf(uid))
}
