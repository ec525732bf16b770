package look

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// Left reads what of the node's work is still to be released under the policy.
func Left(ctx context.Context, c *kube.Client, f *api.NodeFence) (*observed.Left, error) {
	return work{c}.left(ctx, f)
}

// work reads what runs on a node, and what it uses.
type work struct{ Client *kube.Client }

func (c work) left(ctx context.Context, f *api.NodeFence) (*observed.Left, error) {
	how := facts.ReleaseOf(f)
	if how.Strategy == api.ReleaseNone {
		return &observed.Left{}, nil
	}
	pods, err := c.Client.PodsOn(ctx, f.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	attached, err := c.Client.VolumeAttachments(ctx, f.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	var used, kept map[string]bool
	stay := &observed.Left{}
	if cover := facts.Covered(f); cover != nil {
		pods, attached, stay, err = c.covered(ctx, cover, pods, attached, f.OutOfServiceAs())
	} else {
		kept, err = c.kept(ctx, pods, how.Taints(), f.OutOfServiceAs())
	}
	if err != nil {
		return nil, err
	}
	if how.Detaches() {
		if pods, attached, used, err = c.storage(ctx, how.StorageClassNames, pods, attached); err != nil {
			return nil, err
		}
	}
	left := leftOf(pods, f.OutOfServiceAs())
	left.Stay, left.Volumes, left.Hidden = stay.Stay, stay.Volumes, stay.Hidden
	attachments(left, without(attached, kept), used)
	if err := c.first(ctx, how.DetachFirst, left, attached); err != nil {
		return nil, err
	}
	if how.RespectDisruptionBudgets && len(left.Delete) > 0 {
		return left, c.budgets(ctx, left, pods)
	}
	return left, nil
}

// kept returns the volumes of the pods that stay: such a volume is attached as long as its pod
// stays, so nothing waits for it. Under the taint Kubernetes deletes every pod that does not tolerate
// it, those of a DaemonSet too.
func (c work) kept(ctx context.Context, pods []corev1.Pod, taints bool, as api.OutOfServiceValue) (map[string]bool, error) {
	stay := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool {
		return ours(&p, as) || taints && !tolerates(&p, as)
	})
	_, _, used, err := c.storage(ctx, nil, stay, nil)
	return used, err
}

// without are the attachments of all volumes but these.
func without(attached []storagev1.VolumeAttachment, kept map[string]bool) []storagev1.VolumeAttachment {
	return slices.DeleteFunc(slices.Clone(attached), func(a storagev1.VolumeAttachment) bool {
		name := a.Spec.Source.PersistentVolumeName
		return name != nil && kept[*name]
	})
}

// storage selects the pods and attachments whose volumes are of one of these classes (of
// any class if none is named), and returns which volumes any pod of the node uses.
func (c work) storage(ctx context.Context, classes []string, pods []corev1.Pod, attached []storagev1.VolumeAttachment) (
	minePods []corev1.Pod, mine []storagev1.VolumeAttachment, used map[string]bool, err error) {
	used = map[string]bool{}
	for _, p := range pods {
		chosen := len(classes) == 0
		for _, claim := range heldClaims(&p) {
			pvc, err := c.Client.PersistentVolumeClaim(ctx, p.Namespace, claim)
			if err != nil {
				return nil, nil, nil, err
			}
			if pvc == nil {
				continue
			}
			used[pvc.Spec.VolumeName] = used[pvc.Spec.VolumeName] || !ended(&p)
			chosen = chosen || pvc.Spec.StorageClassName != nil && slices.Contains(classes, *pvc.Spec.StorageClassName)
		}
		if chosen {
			minePods = append(minePods, p)
		}
	}
	if len(classes) == 0 {
		return minePods, attached, used, nil
	}
	for _, a := range attached {
		name := a.Spec.Source.PersistentVolumeName
		if name == nil {
			continue // a volume in a pod's own spec has no class
		}
		pv, err := c.Client.PersistentVolume(ctx, *name)
		if err != nil {
			return nil, nil, nil, err
		}
		if pv != nil && slices.Contains(classes, pv.Spec.StorageClassName) {
			mine = append(mine, a)
		}
	}
	return minePods, mine, used, nil
}

// first makes the attachments of these volumes go before any pod: while one of them exists,
// no other volume is detached, and the pods wait.
func (c work) first(ctx context.Context, chosen []api.DetachFirst, left *observed.Left, attached []storagev1.VolumeAttachment) error {
	if len(chosen) == 0 || len(left.Delete) == 0 {
		return nil
	}
	var volumes []string
	var detach []observed.Attachment
	for _, a := range attached {
		ok, err := c.chosen(ctx, chosen, a.Spec.Source.PersistentVolumeName)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		volumes = append(volumes, *a.Spec.Source.PersistentVolumeName)
		if a.DeletionTimestamp == nil {
			detach = append(detach, observed.Attachment{Name: a.Name, UID: a.UID})
		}
	}
	if len(volumes) == 0 {
		return nil
	}
	what := "volume " + volumes[0]
	if more := len(volumes) - 1; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	for _, p := range left.Delete {
		left.Names = append(left.Names, "pod "+p.Namespace+"/"+p.Name+" (waits for "+what+" to be detached first)")
	}
	left.Terminating += len(left.Delete)
	left.Delete, left.Detach = nil, detach
	return nil
}

// chosen reports whether a volume is one of these, by its name or by its own class. A
// claim's class does not count, because a user writes it.
func (c work) chosen(ctx context.Context, chosen []api.DetachFirst, volume *string) (bool, error) {
	if volume == nil {
		return false, nil // a volume in a pod's own spec has neither
	}
	if slices.Contains(chosen, api.DetachFirst{PersistentVolumeName: *volume}) {
		return true, nil
	}
	pv, err := c.Client.PersistentVolume(ctx, *volume)
	if err != nil || pv == nil {
		return false, err
	}
	return pv.Spec.StorageClassName != "" && slices.Contains(chosen, api.DetachFirst{StorageClassName: pv.Spec.StorageClassName}), nil
}

// Claims returns the names of the claims that a pod uses. A pod that has ended uses none.
func Claims(p *corev1.Pod) []string {
	if ended(p) {
		return nil
	}
	return claimsOf(p)
}

// heldClaims returns the names of the claims of a pod that is released. A pod that has ended and is
// not being deleted is neither released nor a user of a volume.
func heldClaims(p *corev1.Pod) []string {
	if ended(p) && p.DeletionTimestamp == nil {
		return nil
	}
	return claimsOf(p)
}

// claimsOf returns the names of the claims in a pod's spec.
func claimsOf(p *corev1.Pod) (names []string) {
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, p.Name+"-"+v.Name)
		}
	}
	return names
}

// attachments counts and names them, each with its CSI driver, because the driver has to
// detach it. If used is known, the attachments that no pod uses are to be deleted.
func attachments(left *observed.Left, attached []storagev1.VolumeAttachment, used map[string]bool) {
	var names []string
	for _, a := range attached {
		left.Attachments++
		volume := a.Spec.Source.PersistentVolumeName
		name := "volume " + a.Name
		if volume != nil {
			name = "volume " + *volume
		}
		name += " (CSI driver " + a.Spec.Attacher
		if e := a.Status.DetachError; e != nil {
			name += fmt.Sprintf(": %.120q", e.Message)
		}
		names = append(names, name+")")
		if used != nil && volume != nil && !used[*volume] && a.DeletionTimestamp == nil {
			left.Detach = append(left.Detach, observed.Attachment{Name: a.Name, UID: a.UID})
		}
	}
	left.Names = append(names, left.Names...)
}
