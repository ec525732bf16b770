package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/fence"
)

// PodsOn reads the pods bound to a node.
func (c *Client) PodsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	l, err := list[corev1.PodList](ctx, c, "/api/v1/pods", "fieldSelector", "spec.nodeName="+node)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// EtcdPods reads the static pods that etcd's members run as, by kubeadm's label.
func (c *Client) EtcdPods(ctx context.Context) ([]corev1.Pod, error) {
	l, err := list[corev1.PodList](ctx, c, "/api/v1/namespaces/kube-system/pods", "labelSelector", "component=etcd")
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// AttachmentsOf reads the volume attachments of a node.
func (c *Client) AttachmentsOf(ctx context.Context, node string) ([]storagev1.VolumeAttachment, error) {
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

// EventsAbout reads what was reported of a node as Kubernetes Events. They stand in
// namespace default; one elsewhere is of whoever may write there.
func (c *Client) EventsAbout(ctx context.Context, node string) ([]corev1.Event, error) {
	l, err := list[corev1.EventList](ctx, c, "/api/v1/namespaces/default/events",
		"fieldSelector", "involvedObject.kind=Node,involvedObject.name="+node)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// ForceDelete removes exactly this pod, at once: another pod of its name, or
// none, is left alone (S6).
func (c *Client) ForceDelete(ctx context.Context, p fence.Pod) error {
	now := int64(0)
	err := c.rest.Delete().AbsPath("/api/v1/namespaces/" + p.Namespace + "/pods/" + p.Name).
		Body(deletion(p.UID, &now)).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Event is one Kubernetes Event about an object without a namespace.
type Event struct {
	Kind, APIVersion, Name string
	UID                    types.UID
	Warning                bool
	Reason, Message        string
	Reporter               string
}

// Report writes an Event about a node under a name of its own, once: it is there
// already if the same was reported before.
func (c *Client) Report(ctx context.Context, n *corev1.Node, reporter, name, reason, instance, message string) error {
	now := metav1.NewTime(c.clock.Now())
	_, err := post(ctx, c, "/api/v1/namespaces/default/events", &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: n.Name, UID: n.UID},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: "[fence] " + message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source:              corev1.EventSource{Component: "nodefence-" + reporter},
		ReportingController: "nodefence.io/" + reporter, ReportingInstance: instance,
	})
	if isConflict(err) {
		return nil
	}
	return err
}

// Say posts an Event. Its loss is harmless, so callers may ignore the error.
func (c *Client) Say(ctx context.Context, e Event) error {
	now := metav1.NewTime(c.clock.Now())
	typ := corev1.EventTypeNormal
	if e.Warning {
		typ = corev1.EventTypeWarning
	}
	_, err := post(ctx, c, "/api/v1/namespaces/default/events", &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{GenerateName: e.Name + ".", Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{Kind: e.Kind, APIVersion: e.APIVersion, Name: e.Name, UID: e.UID},
		Type:           typ, Reason: e.Reason, Message: "[fence] " + e.Message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source:              corev1.EventSource{Component: "nodefence-" + e.Reporter},
		ReportingController: "nodefence.io/" + e.Reporter, ReportingInstance: e.Reporter,
	})
	return err
}
