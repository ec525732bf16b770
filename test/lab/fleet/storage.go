package fleet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// driver is the lab's CSI driver: we play its provisioner and its attacher,
	// and Kubernetes' own controller decides what is attached where.
	driver    = "lab.nodefence.io"
	class     = "lab"
	finalizer = "external-attacher/lab-nodefence-io"
)

// storageObjects makes the driver and the class known.
func (l *lab) storageObjects() error {
	yes, now := true, storagev1.VolumeBindingImmediate
	_, err := l.client.StorageV1().CSIDrivers().Create(l.ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: &yes},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create CSIDriver: %w", err)
	}
	_, err = l.client.StorageV1().StorageClasses().Create(l.ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: driver, VolumeBindingMode: &now,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create StorageClass: %w", err)
	}
	return nil
}

// claimChanged provisions: a claim of our class without a volume gets one.
func (l *lab) claimChanged(obj any) {
	c, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return
	}
	for _, p := range l.pods.List() {
		if pod, ok := p.(*corev1.Pod); ok && pod.Namespace == c.Namespace {
			l.poke(pod.Spec.NodeName)
		}
	}
	if c.Spec.VolumeName != "" || c.Spec.StorageClassName == nil || *c.Spec.StorageClassName != class || c.DeletionTimestamp != nil {
		return
	}
	name := "pvc-" + string(c.UID)
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": driver}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: c.Spec.Resources.Requests, AccessModes: c.Spec.AccessModes, StorageClassName: class,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name},
			},
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID,
			},
		},
	}
	l.wg.Go(func() { _, _ = l.client.CoreV1().PersistentVolumes().Create(l.ctx, pv, metav1.CreateOptions{}) })
}

// attach plays the external attacher: what is to be attached is, at once; what
// is to be detached is let go.
func (l *lab) attach(a *storagev1.VolumeAttachment) {
	if a.Spec.Attacher != driver {
		return
	}
	leaving, held := a.DeletionTimestamp != nil, slices.Contains(a.Finalizers, finalizer)
	if leaving != held && (leaving || a.Status.Attached) {
		return
	}
	if !leaving && held && a.Status.Attached {
		return
	}
	a = a.DeepCopy()
	l.wg.Go(func() {
		vas := l.client.StorageV1().VolumeAttachments()
		if leaving {
			a.Finalizers = slices.DeleteFunc(a.Finalizers, func(s string) bool { return s == finalizer })
			_, _ = vas.Update(l.ctx, a, metav1.UpdateOptions{})
			return
		}
		if !held {
			a.Finalizers = append(a.Finalizers, finalizer)
			u, err := vas.Update(l.ctx, a, metav1.UpdateOptions{})
			if err != nil {
				return // its next version comes here again
			}
			a = u
		}
		a.Status.Attached = true
		_, _ = vas.UpdateStatus(l.ctx, a, metav1.UpdateOptions{})
	})
}

// isAttached tells whether a volume is attached to a node.
func (l *lab) isAttached(pv, node string) bool {
	for _, o := range l.attached.List() {
		a, ok := o.(*storagev1.VolumeAttachment)
		if ok && a.Spec.NodeName == node && a.Spec.Source.PersistentVolumeName != nil && *a.Spec.Source.PersistentVolumeName == pv {
			return a.Status.Attached && a.DeletionTimestamp == nil
		}
	}
	return false
}

// volume is one that a pod uses.
type volume struct {
	pv, handle string
	bound      bool
}

func (l *lab) volumesOf(p *corev1.Pod) []volume {
	var all []volume
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		all = append(all, l.volumeOf(p.Namespace, v.PersistentVolumeClaim.ClaimName))
	}
	return all
}

func (l *lab) volumeOf(namespace, claim string) volume {
	o, ok, err := l.claims.GetByKey(cache.NewObjectName(namespace, claim).String())
	c, isClaim := o.(*corev1.PersistentVolumeClaim)
	if err != nil || !ok || !isClaim || c.Status.Phase != corev1.ClaimBound {
		return volume{}
	}
	return volume{pv: c.Spec.VolumeName, handle: c.Spec.VolumeName, bound: true}
}
