package kdump

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/fence"
)

// Cluster is what the listener needs of the API server.
type Cluster interface {
	Nodes(ctx context.Context) ([]corev1.Node, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
	// HeardDump writes down that a message of a node came so long ago, and gives what
	// stands there after it.
	HeardDump(ctx context.Context, n *corev1.Node, source string, ago time.Duration) (*fence.Dump, error)
}

// Sender hands an event to a broker.
type Sender interface {
	Send(ctx context.Context, e event.Event) error
}

// Options of a listener.
type Options struct {
	Cluster Cluster
	// Sender may be nil: then what is heard is written down, and told to nobody.
	Sender     Sender
	Source     events.Source
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Elapsed is the time of a clock that goes on while the machine sleeps: by another
	// one a message would be younger than it is (S8).
	Elapsed func() time.Duration
}

const (
	// apart is the least time between two messages of one node that are written
	// down: half of what fence_kdump_send keeps.
	apart = 5 * time.Second
	// writers is how many nodes are written down at once, and waiting how many
	// more wait for that.
	writers = 4
	waiting = 256
	// within bounds the writing down of one message.
	within = 15 * time.Second
)

// Listener is the program.
type Listener struct {
	o         Options
	addresses *addresses
	queue     chan heard
	messages  *prometheus.CounterVec

	mu sync.Mutex
	// taken is when a message of a node was last taken.
	taken map[string]time.Duration
}

// heard is one message.
type heard struct {
	node string
	from netip.Addr
	// at is when it came: writing it down may take a while, and it does not get
	// younger by that.
	at time.Duration
}

// New makes a listener.
func New(o Options) (*Listener, error) {
	l := &Listener{
		o: o, addresses: newAddresses(), queue: make(chan heard, waiting), taken: map[string]time.Duration{},
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_kdump_messages_total", Help: "Datagrams by what became of them.",
		}, []string{"result"}),
	}
	if err := o.Registerer.Register(l.messages); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return l, nil
}

// Ready says what is missing until messages can be told apart.
func (l *Listener) Ready() error {
	if l.addresses.of.Load() == nil {
		return errors.New("the nodes' addresses are not known yet")
	}
	return nil
}

// Run hears what comes in at conn until ctx ends, and closes it.
func (l *Listener) Run(ctx context.Context, conn net.PacketConn) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { _ = l.keep(ctx) })
	for range writers {
		wg.Go(func() { l.write(ctx) })
	}
	buf := make([]byte, size+1)
	for {
		n, addr, err := conn.ReadFrom(buf)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("read from %s: %w", conn.LocalAddr(), err)
		}
		l.messages.WithLabelValues(l.take(buf[:n], addr)).Inc()
	}
}

// take puts one datagram in the queue, or says in a word why not. It must cost
// little: anybody may send.
func (l *Listener) take(b []byte, addr net.Addr) string {
	udp, ok := addr.(*net.UDPAddr)
	if !ok {
		return "malformed"
	}
	if err := check(b); err != nil {
		l.o.Log.Debug("not a kdump message", "from", addr.String(), "error", err.Error())
		return "malformed"
	}
	from := udp.AddrPort().Addr().Unmap().WithZone("")
	node, ok := l.addresses.node(from)
	if !ok {
		l.o.Log.Debug("a kdump message from an address that no node has, or more than one", "from", from.String())
		return "unknown"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Elapsed()
	if last, ok := l.taken[node]; ok && now-last < apart {
		return "close"
	}
	select {
	case l.queue <- heard{node, from, now}:
		l.taken[node] = now
		return "taken"
	default:
		return "dropped"
	}
}

func (l *Listener) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-l.queue:
			if err := l.report(ctx, h); err != nil && ctx.Err() == nil {
				l.o.Log.Warn("kdump message not reported", "node", h.node, "from", h.from.String(), "error", err.Error())
			}
		}
	}
}

// report writes one message down and tells of it. What stands in the cluster is
// what counts; the event only wakes.
func (l *Listener) report(ctx context.Context, h heard) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	n, err := l.o.Cluster.Node(ctx, h.node)
	if err != nil {
		return err
	}
	if n == nil || !slices.Contains(addressesOf(n), h.from) {
		l.messages.WithLabelValues("moved").Inc()
		_, _ = l.addresses.node(netip.Addr{}) // the addresses are old
		return nil
	}
	d, err := l.o.Cluster.HeardDump(ctx, n, h.from.String(), l.o.Elapsed()-h.at)
	if err != nil {
		return err
	}
	l.messages.WithLabelValues("written").Inc()
	if d.Count == 1 {
		l.o.Log.Info("a machine dumps its memory", "node", n.Name, "from", h.from.String())
	}
	if l.o.Sender == nil {
		return nil
	}
	return l.o.Sender.Send(ctx, l.o.Source.Dumping(n.Name, string(n.UID), h.from.String(), d.First, d.Last, d.Count))
}
