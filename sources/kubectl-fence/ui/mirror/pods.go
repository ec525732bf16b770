package mirror

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// unseen is how long the pods of a node are followed after its page was asked for last. Of a page that is
	// not seen some browsers ask once a minute only.
	unseen = 3 * time.Minute
	// mostGone bounds the pods of a node that are remembered after they have gone.
	mostGone = 500
)

// Pod is one pod of a node, or one that was there since the node's page was opened.
type Pod struct {
	corev1.Pod
	// Gone is when it was seen to be gone; zero while it is there.
	Gone time.Time
}

// podsOf follows the pods of one node.
type podsOf struct {
	*followed
	end context.CancelFunc
	// seen is when the page was asked for last, seen or not.
	seen time.Time

	keeping sync.Mutex
	gone    []Pod
}

// Pods are those of a node, and those that have gone since they are followed, which begins with
// the first call. The gap says why they are not seen; nil if they are.
func (m *Mirror) Pods(node string, now time.Time) ([]Pod, *Gap) {
	m.mu.Lock()
	p := m.pods[node]
	if p == nil && m.running != nil {
		p = m.followPods(node)
	}
	if p != nil {
		p.seen = now
	}
	m.mu.Unlock()
	if p == nil {
		return nil, &Gap{Kind: "Pods", Unread: true}
	}
	var out []Pod
	for _, x := range items(p.followed, func(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }) {
		out = append(out, Pod{Pod: x})
	}
	p.keeping.Lock()
	out = append(out, p.gone...)
	p.keeping.Unlock()
	return out, p.gap()
}

// Keep goes on to follow the pods of a node whose page is open but not seen, so that those that go
// meanwhile are remembered. It begins nothing.
func (m *Mirror) Keep(node string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.pods[node]; p != nil {
		p.seen = now
	}
}

// followPods begins to follow the pods of a node. It is called with the lock held.
func (m *Mirror) followPods(node string) *podsOf {
	p := &podsOf{followed: m.follow("Pods", &corev1.Pod{}, m.client.Pods(node))}
	m.pods[node] = p
	_, _ = p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: p.went})
	ctx, end := context.WithCancel(m.running)
	p.end = end
	go p.informer.RunWithContext(ctx)
	return p
}

// went keeps a pod that has gone.
func (p *podsOf) went(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	p.keeping.Lock()
	defer p.keeping.Unlock()
	p.gone = append(p.gone, Pod{Pod: *pod, Gone: time.Now()})
	if more := len(p.gone) - mostGone; more > 0 {
		p.gone = p.gone[more:]
	}
}

// forgets forgets the pods of nodes whose pages nobody has open any more, until ctx is done.
func (m *Mirror) forgets(ctx context.Context) {
	tick := time.NewTicker(unseen)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			m.Forget(now.Add(-unseen))
		}
	}
}

// Forget ends to follow the pods of nodes whose pages nobody has asked for since then.
func (m *Mirror) Forget(since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for node, p := range m.pods {
		if p.seen.Before(since) {
			p.end()
			delete(m.pods, node)
		}
	}
}
