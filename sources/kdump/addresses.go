package kdump

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// relist bounds how often nodes are listed because somebody unknown sends.
const relist = 10 * time.Second

// addresses say which node has an address, as the API server has it. An address
// that two nodes have is nobody's.
type addresses struct {
	of atomic.Pointer[map[netip.Addr]string]
	// known is closed by know, once they are.
	known chan struct{}
	know  func()
	// wanted asks for a new list.
	wanted chan struct{}
}

func newAddresses() *addresses {
	a := &addresses{known: make(chan struct{}), wanted: make(chan struct{}, 1)}
	a.know = sync.OnceFunc(func() { close(a.known) })
	a.wanted <- struct{}{}
	return a
}

// node is whose address it is; if nobody's, the nodes are listed anew.
func (a *addresses) node(from netip.Addr) (string, bool) {
	if m := a.of.Load(); m != nil {
		if n := (*m)[from]; n != "" {
			return n, true
		}
	}
	select {
	case a.wanted <- struct{}{}:
	default:
	}
	return "", false
}

func (a *addresses) learn(nodes []corev1.Node) {
	m := map[netip.Addr]string{}
	for i := range nodes {
		for _, ip := range addressesOf(&nodes[i]) {
			if was, twice := m[ip]; twice && was != nodes[i].Name {
				m[ip] = ""
				continue
			}
			m[ip] = nodes[i].Name
		}
	}
	a.of.Store(&m)
	a.know()
}

func addressesOf(n *corev1.Node) []netip.Addr {
	var all []netip.Addr
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP && a.Type != corev1.NodeExternalIP {
			continue
		}
		if ip, err := netip.ParseAddr(a.Address); err == nil {
			all = append(all, ip.Unmap())
		}
	}
	return all
}

// keep lists the nodes when that is wanted, and not more often than each relist.
func (l *Listener) keep(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.addresses.wanted:
		}
		nodes, err := l.o.Cluster.Nodes(ctx)
		if err != nil {
			l.o.Log.Warn("nodes not listed: their messages can't be told apart", "error", fmt.Sprint(err))
			select {
			case l.addresses.wanted <- struct{}{}:
			default:
			}
		} else {
			l.addresses.learn(nodes)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(relist):
		}
	}
}
