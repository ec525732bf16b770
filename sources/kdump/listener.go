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
	"github.com/nodefence/nodefence/shared/kube"
)

// Cluster is what the listener needs of the API server.
type Cluster interface {
	Nodes(ctx context.Context) ([]corev1.Node, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
	// RecordDump writes down that a message of a node came at a time of the machine's boot
	// clock, and gives what stands there after it.
	RecordDump(ctx context.Context, n *corev1.Node, source string, at time.Duration) (*kube.Dump, error)
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
	// fresh: a message that may have waited longer in the socket counts for nothing.
	fresh = time.Second
)

// Listener is the program.
type Listener struct {
	o         Options
	addresses *addresses
	queue     chan heard
	messages  *prometheus.CounterVec
	// empty is closed by look, once the socket was seen empty: what comes can be told from
	// what waited.
	empty chan struct{}
	look  func()
	// became counts what a datagram has become.
	became func(result string)

	mu sync.Mutex
	// taken is when the message of a node came that was taken last.
	taken map[string]time.Duration
	// behind: messages that count for nothing are being read, and that was told.
	behind bool
}

// heard is one message.
type heard struct {
	node string
	from netip.Addr
	// at is when it came, at the earliest: writing it down may take a while, and it does
	// not get younger by that.
	at time.Duration
}

// New makes a listener.
func New(o Options) (*Listener, error) {
	l := &Listener{
		o: o, addresses: newAddresses(), queue: make(chan heard, waiting), taken: map[string]time.Duration{},
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_kdump_messages_total", Help: "Datagrams by what became of them.",
		}, []string{"result"}),
		empty: make(chan struct{}),
	}
	l.look = sync.OnceFunc(func() { close(l.empty) })
	l.became = func(result string) { l.messages.WithLabelValues(result).Inc() }
	if err := o.Registerer.Register(l.messages); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return l, nil
}

// Ready says what is missing until messages can be told apart.
func (l *Listener) Ready() error {
	select {
	case <-l.addresses.known:
	default:
		return errors.New("the nodes' addresses are not known yet")
	}
	select {
	case <-l.empty:
		return nil
	default:
		return errors.New("what waited in the socket is not read yet")
	}
}

// Run hears what comes in at conn until ctx ends, and closes it.
func (l *Listener) Run(ctx context.Context, conn *net.UDPConn) error {
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
	buf, in := make([]byte, size+1), &socket{conn: conn, elapsed: l.o.Elapsed, looked: l.look}
	for {
		n, from, err := in.read(buf)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("read from %s: %w", conn.LocalAddr(), err)
		}
		l.became(l.take(buf[:n], from, in.empty))
	}
}

// take puts one datagram in the queue that came after a time, or says in a word why
// not. It must cost little: anybody may send.
func (l *Listener) take(b []byte, from netip.Addr, after time.Duration) string {
	if err := check(b); err != nil {
		l.o.Log.Debug("not a kdump message", "from", from.String(), "error", err.Error())
		return "malformed"
	}
	from = from.Unmap()
	node, ok := l.addresses.node(from)
	if !ok {
		l.o.Log.Debug("a kdump message from an address that no node has, or more than one", "from", from.String())
		return "unknown"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if waited := l.o.Elapsed() - after; waited >= fresh {
		l.late(node, waited)
		return "late"
	}
	l.behind = false
	if last, ok := l.taken[node]; ok && after-last < apart {
		return "close"
	}
	select {
	case l.queue <- heard{node, from, after}:
		l.taken[node] = after
		return "taken"
	default:
		return "dropped"
	}
}

// late tells once of messages that may come from a machine that dumps no more (S2).
func (l *Listener) late(node string, waited time.Duration) {
	if !l.behind {
		l.o.Log.Warn("kdump messages may have waited in the socket and count for nothing: nodefence-kdump stood still, or more comes in than it can read",
			"node", node, "longest", waited.String())
	}
	l.behind = true
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
		l.became("moved")
		_, _ = l.addresses.node(netip.Addr{}) // the addresses are old
		return nil
	}
	d, err := l.o.Cluster.RecordDump(ctx, n, h.from.String(), h.at)
	if err != nil {
		return err
	}
	l.became("written")
	if d.Count == 1 {
		l.o.Log.Info("a machine dumps its memory", "node", n.Name, "from", h.from.String())
	}
	if l.o.Sender == nil {
		return nil
	}
	return l.o.Sender.Send(ctx, l.o.Source.Dumping(n.Name, string(n.UID), h.from.String(), d.First, d.Last, d.Count))
}
