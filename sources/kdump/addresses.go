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

// relist is the least time between two lists of the nodes that an unknown sender causes, and
// the age of a list up to which a message is recorded by it.
const relist = 10 * time.Second

// addresses says which node has an address, according to the API server. An address that
// two nodes have belongs to no node.
type addresses struct {
	last atomic.Pointer[listed]
	// known is closed once the nodes have been listed.
	known chan struct{}
	know  func()
	// wanted asks for a new list.
	wanted chan struct{}
}

// listed is one list of the nodes. at is from before it was asked for, so that its age is
// never understated.
type listed struct {
	of map[netip.Addr]string
	at time.Duration
}

func newAddresses() *addresses {
	a := &addresses{known: make(chan struct{}), wanted: make(chan struct{}, 1)}
	a.know = sync.OnceFunc(func() { close(a.known) })
	a.wanted <- struct{}{}
	return a
}

// node returns the node that has an address. If no node has it, the nodes are listed again.
func (a *addresses) node(from netip.Addr) (string, bool) {
	if l := a.last.Load(); l != nil {
		if n := l.of[from]; n != "" {
			return n, true
		}
	}
	select {
	case a.wanted <- struct{}{}:
	default:
	}
	return "", false
}

func (a *addresses) learn(nodes []corev1.Node, at time.Duration) {
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
	a.last.Store(&listed{m, at})
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

// list lists the nodes.
func (l *Listener) list(ctx context.Context) error {
	at := l.o.Elapsed()
	nodes, err := l.o.Cluster.Nodes(ctx)
	if err == nil {
		l.addresses.learn(nodes, at)
	}
	return err
}

// current lists the nodes again if the last list is older than relist. An address may be
// another machine's by now: a node that is cut off still has it in its Node object, and
// only a list shows that another node has it too.
func (l *Listener) current(ctx context.Context) error {
	l.listing.Lock()
	defer l.listing.Unlock()
	if last := l.addresses.last.Load(); last != nil && l.o.Elapsed()-last.at < relist {
		return nil
	}
	return l.list(ctx)
}

// keep lists the nodes when a list is wanted, at most once in each relist.
func (l *Listener) keep(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.addresses.wanted:
		}
		if err := l.list(ctx); err != nil {
			l.o.Log.Warn("cannot list the nodes; trying again, and ignoring kdump messages from unknown addresses meanwhile", "error", fmt.Sprint(err))
			select {
			case l.addresses.wanted <- struct{}{}:
			default:
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(relist):
		}
	}
}
