package kube

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// ClusterID is the UID of namespace kube-system: no other cluster has the same.
func (c *Client) ClusterID(ctx context.Context) (string, error) {
	ns, err := get[metav1.PartialObjectMetadata](ctx, c, "/api/v1/namespaces/kube-system")
	if err != nil {
		return "", fmt.Errorf("read the cluster's identity: %w", err)
	}
	if ns == nil {
		return "", errors.New("read the cluster's identity: there is no namespace kube-system")
	}
	return string(ns.UID), nil
}

// NoCluster says why no cluster was found, and how to name one. If nothing names one, client-go's
// own error is about a variable that it does not read.
func NoCluster(how string, err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return fmt.Errorf("find the cluster: nothing names one, set %s", how)
	}
	return fmt.Errorf("find the cluster (set %s): %w", how, err)
}
