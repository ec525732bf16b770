package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Secret reads one; nil when there is none.
func (c *Client) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return get[corev1.Secret](ctx, c, "/api/v1/namespaces/"+namespace+"/secrets/"+name)
}

// CreateSecret creates one. ErrConflict: it is there already.
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
