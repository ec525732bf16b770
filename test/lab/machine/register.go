package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// register creates the Node, or finds it after a boot, and reports the new boot before the node
// is ready again.
func (k *kubelet) register(ctx context.Context) error {
	nodes := k.cluster.client.CoreV1().Nodes()
	node, err := nodes.Create(ctx, k.newNode(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		node, err = nodes.Get(ctx, k.machine.name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("register node: %w", err)
	}
	if err := k.registerDriver(ctx, node); err != nil {
		return err
	}
	// Volumes of the boot before count as in use until the kubelet knows
	// better, which it does when it has looked at its pods.
	if err := k.patchNode(ctx, false, node.Status.VolumesInUse); err != nil {
		return err
	}
	k.nodeUID = node.UID
	k.readyAt = time.Now().Add(warmUp)
	return nil
}

func (k *kubelet) registerDriver(ctx context.Context, node *corev1.Node) error {
	entry := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{ownerReference(node.Name, node.UID)}},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: node.Name}}},
	}
	_, err := k.cluster.client.StorageV1().CSINodes().Create(ctx, entry, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("register storage driver: %w", err)
	}
	return nil
}

func ownerReference(node string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node, UID: uid}
}

// reportNode writes the status when it is due, or when it is not what it should be.
func (k *kubelet) reportNode(ctx context.Context) error {
	ready := !time.Now().Before(k.readyAt)
	inUse := k.inUse()
	due := time.Since(k.reported.at) >= k.config.StatusPeriod
	if !due && ready == k.reported.ready && slices.Equal(inUse, k.reported.inUse) && !k.contradicted() {
		return nil
	}
	return k.patchNode(ctx, ready, inUse)
}

// contradicted tells whether somebody else has written something that is not true.
func (k *kubelet) contradicted() bool {
	node, err := k.cluster.see().nodes.Get(k.machine.name)
	if err != nil || node.ResourceVersion == k.reported.seen {
		return false
	}
	return nodeReady(node) != k.reported.ready || node.Status.NodeInfo.BootID != k.kernel.bootID
}

func (k *kubelet) patchNode(ctx context.Context, ready bool, inUse []corev1.UniqueVolumeName) error {
	seen := ""
	if node, err := k.cluster.see().nodes.Get(k.machine.name); err == nil {
		seen = node.ResourceVersion
	}
	patch, err := nodePatch(k.nodeStatus(ready, inUse))
	if err != nil {
		return err
	}
	_, err = k.cluster.client.CoreV1().Nodes().Patch(ctx, k.machine.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("report node status: %w", err)
	}
	k.reported = report{at: time.Now(), ready: ready, inUse: inUse, seen: seen}
	return nil
}

func nodePatch(status corev1.NodeStatus) ([]byte, error) {
	fields := map[string]any{
		"capacity": status.Capacity, "allocatable": status.Allocatable,
		"addresses": status.Addresses, "nodeInfo": status.NodeInfo,
		"conditions": status.Conditions,
		// Also when empty, or the last volume would be in use for ever.
		"volumesInUse": append([]corev1.UniqueVolumeName{}, status.VolumesInUse...),
	}
	raw, err := json.Marshal(map[string]any{"status": fields})
	if err != nil {
		return nil, fmt.Errorf("encode node status: %w", err)
	}
	return raw, nil
}
