package plane

import (
	"fmt"
	"net"
	"net/http"
)

// Addresses inside every namespace.
const (
	proxyAddr   = "127.0.0.1:3128"
	programAddr = "127.0.0.1:8080"
)

// network is a namespace in which the API server and the proxy answer.
type network struct {
	*thread
	listeners []net.Listener
}

func newNetwork(apiServer string, proxy *http.Server) (*network, error) {
	t, err := newThread(newNamespace)
	if err != nil {
		return nil, err
	}
	n := &network{thread: t}
	api, err := n.open(apiServer)
	if err != nil {
		n.close()
		return nil, fmt.Errorf("stand for the API server: %w", err)
	}
	go relay(api, toAddress(apiServer))
	l, err := n.open(proxyAddr)
	if err != nil {
		n.close()
		return nil, fmt.Errorf("stand for the cluster's network: %w", err)
	}
	go func() { _ = proxy.Serve(l) }()
	return n, nil
}

func (n *network) open(addr string) (net.Listener, error) {
	l, err := n.listen(addr)
	if err == nil {
		n.listeners = append(n.listeners, l)
	}
	return l, err
}

func (n *network) close() {
	for _, l := range n.listeners {
		_ = l.Close()
	}
	n.end()
}
