package kube

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Node reads a node; nil when there is none.
func (c *Client) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return get[corev1.Node](ctx, c, nodesPath+"/"+name)
}

// Nodes reads all nodes.
func (c *Client) Nodes(ctx context.Context) ([]corev1.Node, error) {
	l, err := list[corev1.NodeList](ctx, c, nodesPath)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// NodesWith reads the nodes that have a label with this key.
func (c *Client) NodesWith(ctx context.Context, label string) ([]corev1.Node, error) {
	l, err := list[corev1.NodeList](ctx, c, nodesPath, "labelSelector", label)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// NodesNamed reads nodes one by one, all at once, and leaves out those that are not there.
func (c *Client) NodesNamed(ctx context.Context, names []string) ([]corev1.Node, error) {
	return eachNamed(c, names, func(name string) (*corev1.Node, error) { return c.Node(ctx, name) })
}

// longestBootID is the API's limit. Linux has a boot ID of 36 letters.
const longestBootID = 128

// BootID is the boot ID that a kubelet reports, which may have any length. If it is too long for
// a record, it is the ID's hash, which tells one boot from another as well.
func BootID(said string) string {
	if len(said) <= longestBootID {
		return said
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(said)))
}

// SetReadyUnknown sets Ready to Unknown on a node whose machine is proven off, so that Kubernetes
// frees its volumes without waiting for the grace period. It writes to the node as it was looked
// at: ErrConflict says that the node has changed since.
func (c *Client) SetReadyUnknown(ctx context.Context, node string, uid types.UID, version string) error {
	now := metav1.NewTime(c.clock.Now().Truncate(1e9))
	defer func() { // S5: a living kubelet reacts to this, so the next look is a read
		c.dropFromCache(nodesPath + "/" + node)
		c.dropFromCache(leasesPath + "/" + node)
	}()
	return c.patchOnly(ctx, strategicPatch, nodesPath+"/"+node+"/status", map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": version},
		"status": map[string]any{"conditions": []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: api.NotReadyReason,
			Message:           "nodefence has seen this machine off",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}}},
	})
}

// DeleteNode deletes exactly this Node object, as it was looked at: ErrConflict says that it has
// changed since, as it does when its machine is back (S3, S6).
func (c *Client) DeleteNode(ctx context.Context, node string, uid types.UID, version string) error {
	defer c.dropFromCache(nodesPath + "/" + node)
	return c.deleteAsSeen(ctx, nodesPath+"/"+node, uid, version)
}

// LabelNode sets labels of exactly this Node; a nil takes one off. ErrConflict: it is another Node.
func (c *Client) LabelNode(ctx context.Context, n *corev1.Node, labels map[string]any) error {
	return c.patchOnly(ctx, mergePatch, nodesPath+"/"+n.Name, map[string]any{"metadata": map[string]any{"uid": n.UID, "labels": labels}})
}

// What nodefence has written to a Node, as the API server has it.

// CordonIsOurs tells whether nodefence was the last to set spec.unschedulable. The API server
// keeps that in managedFields. So a cordon that a person sets after removing ours is left alone
// (S22). Who applies the cordon (server-side apply) beside ours owns it too, and keeps it:
// kubectl fence cordon does so.
func CordonIsOurs(fields []metav1.ManagedFieldsEntry) bool {
	const field = `"f:unschedulable"`
	return isOurs(fields, field) && !slices.ContainsFunc(fields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager != api.FieldManager && m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), field)
	})
}

func isOurs(fields []metav1.ManagedFieldsEntry, field string) bool {
	for _, m := range fields {
		if m.Manager == api.FieldManager && m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), field) {
			return true
		}
	}
	return false
}

// OurScaleDownAnnotations are the annotations against deletion by autoscalers that the node has and
// nodefence wrote, whatever labels the node has now (S22).
func OurScaleDownAnnotations(annotations map[string]string, fields []metav1.ManagedFieldsEntry) []string {
	var ours []string
	for _, word := range []string{api.ScaleDownDisabled, api.DoNotDisrupt} {
		if annotations[word] == "true" && isOurs(fields, `"f:`+word+`"`) {
			ours = append(ours, word)
		}
	}
	return ours
}

// OutOfServiceBy is the UID of the NodeFence for which nodefence placed the node's out-of-service
// taint; empty if nodefence did not, or if somebody else wrote the annotation that says so (S22).
func OutOfServiceBy(annotations map[string]string, fields []metav1.ManagedFieldsEntry) string {
	if !isOurs(fields, `"f:`+api.OutOfServiceBy+`"`) {
		return ""
	}
	return annotations[api.OutOfServiceBy]
}
