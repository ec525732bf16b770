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

// Cluster is the part of the API server's client that the listener needs.
type Cluster interface {
	Nodes(ctx context.Context) ([]corev1.Node, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
	// RecordDump records that a message of a node came at a time of the machine's boot
	// clock, and returns the record after that.
	RecordDump(ctx context.Context, n *corev1.Node, source string, at time.Duration) (*kube.Dump, error)
}

// Sender hands an event to a broker.
type Sender interface {
	Send(ctx context.Context, e event.Event) error
}

// Options of a listener.
type Options struct {
	Cluster Cluster
	// Sender may be nil: then messages are recorded, and no event is sent.
	Sender     Sender
	Source     events.Source
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Elapsed is the time of a clock that also runs while the machine sleeps: by another
	// clock a message would look younger than it is (S8: time that was slept through
	// counts).
	Elapsed func() time.Duration
}

const (
	// apart is the least time between two recorded messages of one node: half of
	// fence_kdump_send's interval.
	apart = 5 * time.Second
	// writers is how many messages are recorded at once; waiting is how many more can wait
	// in the queue.
	writers = 4
	waiting = 256
	// within bounds the recording of one message.
	within = 15 * time.Second
	// fresh: a message that may have waited longer than this in the socket counts for
	// nothing.
	fresh = time.Second
)

// Listener receives messages and records them.
type Listener struct {
	o         Options
	addresses *addresses
	queue     chan heard
	messages  *prometheus.CounterVec
	// empty is closed by look, once the socket was seen empty. From then on, the time that
	// a message may have waited is known.
	empty chan struct{}
	look  func()
	// became counts the datagrams by result.
	became func(result string)

	// listing has one writer at a time list the nodes.
	listing sync.Mutex

	mu sync.Mutex
	// taken is when the last recorded message of each node came.
	taken map[string]time.Duration
	// behind: messages are being read that waited too long, and a warning was logged.
	behind bool
}

// heard is one message.
type heard struct {
	node string
	from netip.Addr
	// at is the earliest time at which the message may have come. Recording it may take a
	// while, which must not make it younger.
	at time.Duration
}

// New makes a listener.
func New(o Options) (*Listener, error) {
	l := &Listener{
		o: o, addresses: newAddresses(), queue: make(chan heard, waiting), taken: map[string]time.Duration{},
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_kdump_messages_total", Help: "Datagrams by result.",
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

// Ready returns what is missing until messages can be assigned to nodes.
func (l *Listener) Ready() error {
	select {
	case <-l.addresses.known:
	default:
		return errors.New("the nodes have not been listed yet")
	}
	select {
	case <-l.empty:
		return nil
	default:
		return errors.New("datagrams from before the start have not all been read yet")
	}
}

// Run receives messages from conn until ctx ends, and closes conn.
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

// take queues one datagram, which came later than the time after, and returns the result
// for the metric. It must be cheap: anybody may send.
func (l *Listener) take(b []byte, from netip.Addr, after time.Duration) string {
	if err := check(b); err != nil {
		l.o.Log.Debug("not a kdump message", "from", from.String(), "error", err.Error())
		return "malformed"
	}
	from = from.Unmap()
	node, ok := l.addresses.node(from)
	if !ok {
		l.o.Log.Debug("ignored a kdump message: no node, or more than one, has its address", "from", from.String())
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

// late warns once of messages that may come from a machine whose dump is over (S2: what is
// unknown is no proof).
func (l *Listener) late(node string, waited time.Duration) {
	if !l.behind {
		l.o.Log.Warn("ignoring kdump messages that may have waited in the socket: nodefence-kdump was stopped, or more messages arrive than it can read",
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
				l.o.Log.Warn("cannot record or report a kdump message; the machine's next message is tried", "node", h.node, "from", h.from.String(), "error", err.Error())
			}
		}
	}
}

// report records one message and sends an event. The record in the cluster counts; the
// event only wakes.
func (l *Listener) report(ctx context.Context, h heard) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := l.current(ctx); err != nil {
		return err
	}
	n, err := l.o.Cluster.Node(ctx, h.node)
	if err != nil {
		return err
	}
	if owner, _ := l.addresses.node(h.from); n == nil || owner != h.node || !slices.Contains(addressesOf(n), h.from) {
		l.became("moved")
		_, _ = l.addresses.node(netip.Addr{}) // the list of addresses is old
		return nil
	}
	d, err := l.o.Cluster.RecordDump(ctx, n, h.from.String(), h.at)
	if err != nil {
		return err
	}
	l.became("written")
	if d.Count == 1 {
		l.o.Log.Info("a machine is writing its crash dump", "node", n.Name, "from", h.from.String())
	}
	if l.o.Sender == nil {
		return nil
	}
	return l.o.Sender.Send(ctx, l.o.Source.Dumping(n.Name, string(n.UID), h.from.String(), d.First, d.Last, d.Count))
}
