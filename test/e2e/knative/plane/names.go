package plane

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// clusterDomain is what Knative appends unless a resolv.conf says otherwise.
const clusterDomain = ".svc.cluster.local"

// service is a Service's namespace and name.
type service struct{ namespace, name string }

// backend connects to what stands behind a Service.
type backend func(ctx context.Context) (net.Conn, error)

// names is the cluster's DNS and kube-proxy in one: it knows Services and
// follows the external names with which Knative leads a channel to its
// dispatcher.
type names struct {
	kube kubernetes.Interface

	mu       sync.Mutex
	backends map[service]backend
	external map[service]service
	// changed is called when a Service leads elsewhere.
	changed func()
}

func newNames(k kubernetes.Interface) *names {
	return &names{kube: k, backends: map[service]backend{}, external: map[service]service{}, changed: func() {}}
}

func (n *names) set(s service, b backend) {
	n.mu.Lock()
	n.backends[s] = b
	n.mu.Unlock()
	n.changed()
}

// dial has the form that net/http wants.
func (n *names) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", addr, err)
	}
	s, err := parse(host)
	if err != nil {
		return nil, err
	}
	b, err := n.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	return b(ctx)
}

// parse reads NAME.NAMESPACE.svc.cluster.local and its short forms.
func parse(host string) (service, error) {
	short := strings.TrimSuffix(strings.TrimSuffix(host, clusterDomain), ".svc")
	name, namespace, ok := strings.Cut(short, ".")
	if !ok || name == "" || namespace == "" || strings.Contains(namespace, ".") {
		return service{}, fmt.Errorf("resolve %s: it is not NAME.NAMESPACE%s", host, clusterDomain)
	}
	return service{namespace, name}, nil
}

func (n *names) resolve(ctx context.Context, s service) (backend, error) {
	target, err := n.follow(ctx, s)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.backends[target]
	if b == nil {
		return nil, fmt.Errorf("resolve %s: nothing stands behind Service %s/%s", s.name, target.namespace, target.name)
	}
	return b, nil
}

// follow returns the Service that s leads to: itself, or another if it is an
// external name. It asks the API server once for each.
func (n *names) follow(ctx context.Context, s service) (service, error) {
	n.mu.Lock()
	target, known := n.external[s]
	if !known && n.backends[s] != nil {
		target, known = s, true
	}
	n.mu.Unlock()
	if known {
		return target, nil
	}
	svc, err := n.kube.CoreV1().Services(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return service{}, fmt.Errorf("resolve %s: %w", s.name, err)
	}
	if svc.Spec.Type != corev1.ServiceTypeExternalName {
		return s, nil
	}
	if target, err = parse(svc.Spec.ExternalName); err != nil {
		return service{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.external[s] = target
	return target, nil
}
