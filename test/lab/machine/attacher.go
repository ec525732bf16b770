package machine

import (
	"context"
	"fmt"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	attachFinalizer = "external-attacher/lab-nodefence-io"
	// attachDelay is how long the storage takes.
	attachDelay = 50 * time.Millisecond
)

// handleAttachment does what the attacher of a real driver does: it reports when a volume is
// attached, and removes its finalizer when it is detached. The controller manager decides both.
// The storage does not cut off a machine that still writes: the writers' record shows whether
// that happens.
func (c *cluster) handleAttachment(ctx context.Context, name string) (time.Duration, error) {
	attachment, err := c.see().attach.Get(name)
	if apierrors.IsNotFound(err) || err == nil && attachment.Spec.Attacher != driver {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get attachment: %w", err)
	}
	ours := slices.Contains(attachment.Finalizers, attachFinalizer)
	switch {
	case attachment.DeletionTimestamp != nil && ours:
		return 0, c.detach(ctx, attachment.DeepCopy())
	case attachment.DeletionTimestamp != nil || attachment.Status.Attached:
		return 0, nil
	case !ours:
		return attachDelay, c.claimAttachment(ctx, attachment.DeepCopy())
	case time.Since(attachment.CreationTimestamp.Time) < attachDelay:
		return attachDelay, nil
	}
	return 0, c.attachNow(ctx, attachment.DeepCopy())
}

// claimAttachment makes sure that a deletion waits for the detaching.
func (c *cluster) claimAttachment(ctx context.Context, a *storagev1.VolumeAttachment) error {
	a.Finalizers = append(a.Finalizers, attachFinalizer)
	if _, err := c.client.StorageV1().VolumeAttachments().Update(ctx, a, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("add finalizer to attachment: %w", err)
	}
	return nil
}

func (c *cluster) attachNow(ctx context.Context, a *storagev1.VolumeAttachment) error {
	a.Status.Attached = true
	if _, err := c.client.StorageV1().VolumeAttachments().UpdateStatus(ctx, a, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("attach volume: %w", err)
	}
	return nil
}

func (c *cluster) detach(ctx context.Context, a *storagev1.VolumeAttachment) error {
	a.Finalizers = slices.DeleteFunc(a.Finalizers, func(f string) bool { return f == attachFinalizer })
	_, err := c.client.StorageV1().VolumeAttachments().Update(ctx, a, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("detach volume: %w", err)
	}
	return nil
}
