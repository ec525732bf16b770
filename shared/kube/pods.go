package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BoundPod is a pod, and the node that it is bound to.
type BoundPod struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
}

// Pod reads where a pod is bound; nil when there is none.
func (c *Client) Pod(ctx context.Context, namespace, name string) (*BoundPod, error) {
	return get[BoundPod](ctx, c, "/api/v1/namespaces/"+namespace+"/pods/"+name)
}

// EventsAboutPods reads what was reported of pods under one reason, in all
// namespaces.
func (c *Client) EventsAboutPods(ctx context.Context, reason string) ([]corev1.Event, error) {
	l, err := list[corev1.EventList](ctx, c, "/api/v1/events", "fieldSelector", "involvedObject.kind=Pod,reason="+reason)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}
