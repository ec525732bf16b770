package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// WorkerRole is in the enrolment of a node that is none of the control plane.
const WorkerRole = "worker"

// Enrolled reads the ConfigMap in which a node's machine is enrolled; nil when
// there is none. It asks for a list of one, as whoever binds devices may list.
func (c *Client) Enrolled(ctx context.Context, namespace, node string) (*corev1.ConfigMap, error) {
	l, err := list[corev1.ConfigMapList](ctx, c, "/api/v1/namespaces/"+namespace+"/configmaps",
		"fieldSelector", "metadata.name="+EnrolledName(node))
	if err != nil || len(l.Items) == 0 {
		return nil, err
	}
	return &l.Items[0], nil
}
