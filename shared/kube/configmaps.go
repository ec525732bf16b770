package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// EnrolledLabel marks the ConfigMaps in which machines are enrolled.
const EnrolledLabel = "nodefence.io/enrolled"

// EnrolledName is the ConfigMap in which a node's machine is enrolled.
func EnrolledName(node string) string { return "fence-enrolled-" + node }

// Excluded and ExcludedBy are in the enrolment of a node that was to be left alone when its Node
// object was last seen. Excluded says in words which label or taint excluded it. ExcludedBy names
// the policies whose exclude.selector chose it, separated by blanks.
const (
	Excluded   = "excluded"
	ExcludedBy = "excluded_by"
)

// EnrolledIdentity is in the enrolment of a node of which a person has enrolled what its device
// says, in place of the system UUID; EnrolledBy and EnrolledAt say who did, and when.
// EnrolledAlsoOf names another node that reports the same system UUID.
const (
	EnrolledIdentity = "identity"
	EnrolledBy       = "identity_by"
	EnrolledAt       = "identity_at"
	EnrolledAlsoOf   = "system_uuid_also_of"
)

// WorkerRole is in the enrolment of a node that is not of the control plane.
const WorkerRole = "worker"

// ConfigMaps reads all ConfigMaps of a namespace.
func (c *Client) ConfigMaps(ctx context.Context, namespace string) ([]corev1.ConfigMap, error) {
	l, err := list[corev1.ConfigMapList](ctx, c, "/api/v1/namespaces/"+namespace+"/configmaps")
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// ConfigMap reads one; nil when there is none.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return get[corev1.ConfigMap](ctx, c, "/api/v1/namespaces/"+namespace+"/configmaps/"+name)
}

// CreateConfigMap creates one. ErrConflict: it already exists.
func (c *Client) CreateConfigMap(ctx context.Context, cm *corev1.ConfigMap) error {
	cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	_, err := create(ctx, c, "/api/v1/namespaces/"+cm.Namespace+"/configmaps", cm)
	return err
}

// SaveConfigMap writes one by compare-and-swap.
func (c *Client) SaveConfigMap(ctx context.Context, cm *corev1.ConfigMap) error {
	cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	_, err := update(ctx, c, "/api/v1/namespaces/"+cm.Namespace+"/configmaps/"+cm.Name, cm)
	return err
}

// DeleteConfigMap deletes exactly this version of a ConfigMap; if it is gone, that is no error.
// ErrConflict: it was written since, and stays.
func (c *Client) DeleteConfigMap(ctx context.Context, namespace, name string, uid types.UID, version string) error {
	return c.deleteAsSeen(ctx, "/api/v1/namespaces/"+namespace+"/configmaps/"+name, uid, version)
}

// Enrolment reads the ConfigMap in which a node's machine is enrolled; nil when there is none.
func (c *Client) Enrolment(ctx context.Context, namespace, node string) (*corev1.ConfigMap, error) {
	return c.ConfigMap(ctx, namespace, EnrolledName(node))
}

// Secret reads one; nil when there is none.
func (c *Client) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return get[corev1.Secret](ctx, c, "/api/v1/namespaces/"+namespace+"/secrets/"+name)
}

// CreateSecret creates one. ErrConflict: it already exists.
func (c *Client) CreateSecret(ctx context.Context, s *corev1.Secret) error {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	_, err := create(ctx, c, "/api/v1/namespaces/"+s.Namespace+"/secrets", s)
	return err
}

// DeleteSecret deletes one.
func (c *Client) DeleteSecret(ctx context.Context, namespace, name string) error {
	return c.deleteObject(ctx, "/api/v1/namespaces/"+namespace+"/secrets/"+name, &metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
	})
}
