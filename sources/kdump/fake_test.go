package kdump

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/kube"
)

// cluster is the API server as the listener sees it.
type cluster struct {
	mu    sync.Mutex
	nodes []corev1.Node
	lists int
	dumps map[string]kube.Dump
	// wrote gets a value each time that a message was recorded.
	wrote chan string
}

func newCluster(nodes ...corev1.Node) *cluster {
	return &cluster{nodes: nodes, dumps: map[string]kube.Dump{}, wrote: make(chan string, 100)}
}

func (c *cluster) Nodes(context.Context) ([]corev1.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists++
	return append([]corev1.Node(nil), c.nodes...), nil
}

func (c *cluster) Node(_ context.Context, name string) (*corev1.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.nodes {
		if c.nodes[i].Name == name {
			return c.nodes[i].DeepCopy(), nil
		}
	}
	return nil, nil
}

func (c *cluster) RecordDump(_ context.Context, n *corev1.Node, source string, at time.Duration) (*kube.Dump, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.dumps[n.Name]
	d.NodeUID, d.Source, d.Last = n.UID, source, time.Now().Add(at-kube.Elapsed())
	if d.Count++; d.Count == 1 {
		d.First = d.Last
	}
	c.dumps[n.Name] = d
	c.wrote <- n.Name + " " + source
	return &d, nil
}

func (c *cluster) set(nodes ...corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = nodes
}

// told is a broker.
type told struct {
	// down: the broker is away.
	down bool
	sent chan event.Event
}

func (t *told) Send(_ context.Context, e event.Event) error {
	if t.down {
		return errors.New("the broker is away")
	}
	t.sent <- e
	return nil
}
