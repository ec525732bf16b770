package kdump

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/kube"
)

// message is one, in the order of most machines.
func message(order binary.ByteOrder, m, v uint32) []byte {
	b := make([]byte, size)
	order.PutUint32(b, m)
	order.PutUint32(b[4:], v)
	return b
}

func node(name string, addresses ...string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

func newListener(t *testing.T, c *cluster, s Sender, elapsed func() time.Duration) *Listener {
	t.Helper()
	l, err := New(Options{Cluster: c, Sender: s, Source: events.SourceOf("test"), Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Elapsed: elapsed})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// start runs a listener on loopback and returns its address.
func start(t *testing.T, c *cluster, s Sender) (*Listener, *net.UDPAddr) {
	t.Helper()
	return startBy(t, c, s, kube.Elapsed)
}

// startBy runs a listener by a clock of the test's.
func startBy(t *testing.T, c *cluster, s Sender, elapsed func() time.Duration) (*Listener, *net.UDPAddr) {
	t.Helper()
	l := newListener(t, c, s, elapsed)
	return l, listen(t, l)
}

// listen makes a listener receive on loopback until the test ends.
func listen(t *testing.T, l *Listener) *net.UDPAddr {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, conn) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for _, done := range []<-chan struct{}{l.addresses.known, l.empty} {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-done:
		}
	}
	if err := l.Ready(); err != nil {
		t.Fatal(err)
	}
	return conn.LocalAddr().(*net.UDPAddr)
}

func TestWhatIsTaken(t *testing.T) {
	good := message(binary.LittleEndian, magic, version)
	for name, tc := range map[string]struct {
		from string
		b    []byte
		want string
	}{
		"a message of a node":                        {"10.0.0.7", good, "taken"},
		"of a machine with the other order of bytes": {"10.0.0.7", message(binary.BigEndian, magic, version), "taken"},
		"from a node's second address":               {"fd00::7", good, "taken"},
		"from an address in the other family's form": {"::ffff:10.0.0.7", good, "taken"},
		"from an address that no node has":           {"10.0.0.9", good, "unknown"},
		"from an address that two nodes have":        {"10.0.0.1", good, "unknown"},
		"another magic number":                       {"10.0.0.7", message(binary.LittleEndian, 7, version), "malformed"},
		"another version":                            {"10.0.0.7", message(binary.LittleEndian, magic, 2), "malformed"},
		"too short":                                  {"10.0.0.7", good[:7], "malformed"},
		"too long":                                   {"10.0.0.7", append(good[:8:8], 0), "malformed"},
		"nothing":                                    {"10.0.0.7", nil, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newListener(t, nil, nil, kube.Elapsed)
			l.addresses.learn([]corev1.Node{node("a", "10.0.0.7", "fd00::7", "10.0.0.1"), node("b", "10.0.0.1"), node("c", "10.0.0.1")}, 0)
			got := l.take(tc.b, netip.MustParseAddr(tc.from), kube.Elapsed())
			if got != tc.want || (len(l.queue) == 1) != (got == "taken") {
				t.Errorf("%s, want %s; %d wait", got, tc.want, len(l.queue))
			}
		})
	}
}

func TestManyMessagesAreOne(t *testing.T) {
	l := newListener(t, nil, nil, kube.Elapsed)
	l.addresses.learn([]corev1.Node{node("a", "10.0.0.7"), node("b", "10.0.0.8")}, 0)
	got := map[string]int{}
	for range 1000 {
		for _, ip := range []string{"10.0.0.7", "10.0.0.8", "10.0.0.9"} {
			got[l.take(message(binary.LittleEndian, magic, version), netip.MustParseAddr(ip), kube.Elapsed())]++
		}
	}
	if d := cmp.Diff(map[string]int{"taken": 2, "close": 1998, "unknown": 1000}, got); d != "" {
		t.Error(d)
	}
}

func TestMessageIsWrittenDownAndTold(t *testing.T) {
	c, s := newCluster(node("a", "127.0.0.1")), &told{sent: make(chan event.Event, 10)}
	_, at := start(t, c, s)
	send(t, at, message(binary.LittleEndian, magic, version))
	if got := await(t, c.wrote); got != "a 127.0.0.1" {
		t.Error("written down:", got)
	}
	e := await(t, s.sent)
	if e.Type() != events.NodeDumping || e.Subject() != "a" || e.Extensions()[events.PartitionKey] != "a" {
		t.Error(e)
	}
}

func TestABrokerThatIsAwayLosesNothingThatCounts(t *testing.T) { // S18
	c := newCluster(node("a", "127.0.0.1"))
	_, at := start(t, c, &told{down: true})
	send(t, at, message(binary.LittleEndian, magic, version))
	if got := await(t, c.wrote); got != "a 127.0.0.1" {
		t.Error("written down:", got)
	}
}

func TestAnAddressThatMovedIsNobodys(t *testing.T) {
	c := newCluster(node("a", "127.0.0.1"))
	l, _ := start(t, c, nil)
	c.set(node("a", "10.0.0.7"), node("b", "127.0.0.1"))
	if err := l.report(t.Context(), heard{"a", netip.MustParseAddr("127.0.0.1"), kube.Elapsed()}); err != nil || len(c.dumps) > 0 {
		t.Errorf("%v; written down for the node that had it: %v", err, c.dumps)
	}
}

// TestAnAddressThatAnotherNodeHasTooIsNobodys: a node that is cut off has its address in its Node
// object for as long as it is cut off, and another machine may have been given it (S1: the kdump is
// of this machine). The nodes are listed for that no more often than each relist.
func TestAnAddressThatAnotherNodeHasTooIsNobodys(t *testing.T) {
	from := netip.MustParseAddr("127.0.0.1")
	now, c := time.Hour, newCluster()
	l := newListener(t, c, nil, func() time.Duration { return now })
	for i, step := range []struct {
		nodes        []corev1.Node
		passed       time.Duration
		dumps, lists int
	}{
		{[]corev1.Node{node("a", "127.0.0.1")}, 0, 1, 1},
		{[]corev1.Node{node("a", "127.0.0.1"), node("b", "127.0.0.1")}, relist, 1, 2},
		{[]corev1.Node{node("a", "127.0.0.1"), node("b", "127.0.0.1")}, relist - 1, 1, 2},
		{[]corev1.Node{node("a", "127.0.0.1"), node("b", "10.0.0.7")}, 1, 2, 3},
	} {
		c.set(step.nodes...)
		now += step.passed
		if err := l.report(t.Context(), heard{"a", from, now}); err != nil {
			t.Fatal(err)
		}
		if got := [2]int{int(c.dumps["a"].Count), c.lists}; got != [2]int{step.dumps, step.lists} {
			t.Errorf("step %d: %d messages written down and %d lists, want %d and %d", i, got[0], got[1], step.dumps, step.lists)
		}
	}
}

// TestAMessageGetsNoYounger: a message that is recorded late is not recorded as if it had
// just come.
func TestAMessageGetsNoYounger(t *testing.T) {
	c := newCluster(node("a", "127.0.0.1"))
	l, _ := start(t, c, nil)
	at := kube.Elapsed() - time.Hour
	if err := l.report(t.Context(), heard{"a", netip.MustParseAddr("127.0.0.1"), at}); err != nil {
		t.Fatal(err)
	}
	if last := c.dumps["a"].Last; time.Since(last) < time.Hour {
		t.Errorf("it came at %s, and is written down as of %s", at, last)
	}
}

func send(t *testing.T, to *net.UDPAddr, b []byte) {
	t.Helper()
	conn, err := net.DialUDP("udp", nil, to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
}

func await[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
