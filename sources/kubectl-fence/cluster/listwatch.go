package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
)

// Nodes lists and follows the Nodes.
func (c *Client) Nodes() *cache.ListWatch {
	return cache.NewListWatchFromClient(c.Kube.CoreV1().RESTClient(), "nodes", metav1.NamespaceAll, fields.Everything())
}

// Own lists and follows one of nodefence's cluster-wide kinds.
func (c *Client) Own(resource string) *cache.ListWatch {
	return cache.NewListWatchFromClient(c.own, resource, metav1.NamespaceAll, fields.Everything())
}

// BrakeActs lists and follows the FenceActs of people who stopped, started, paused or resumed.
func (c *Client) BrakeActs() *cache.ListWatch {
	return cache.NewFilteredListWatchFromClient(c.own, actsResource, metav1.NamespaceAll, func(o *metav1.ListOptions) { o.LabelSelector = brakes })
}

// Pods lists and follows the Pods of one node.
func (c *Client) Pods(node string) *cache.ListWatch {
	return cache.NewListWatchFromClient(c.Kube.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fields.OneTermEqualSelector("spec.nodeName", node))
}
