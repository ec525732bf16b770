package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// Excluded and ExcludedBy are in the enrolment of a node that was to be left alone when
// its Node object was last seen: why, in words, for the label or taint that it had, and
// the policies whose exclude.selector chose it, by name, parted by blanks.
const (
	Excluded   = "excluded"
	ExcludedBy = "excluded_by"
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
