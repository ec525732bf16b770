package kdump

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/kube"
)

// halt is a boot clock at which its readers can be stopped.
type halt struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (h *halt) elapsed() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return kube.Elapsed() + h.ahead
}

// TestWhatWaitedIsNotNew: messages that the kernel kept while the listener was stopped may
// be from a machine that runs again. They count for nothing, and the next one counts.
func TestWhatWaitedIsNotNew(t *testing.T) { // S1, S2
	var h halt
	c := newCluster(node("a", "127.0.0.1"))
	l := newListener(t, c, nil, h.elapsed)
	became := results(l)
	at := listen(t, l)
	h.mu.Lock() // its next look at the socket waits for this
	send(t, at, message(binary.LittleEndian, magic, version))
	send(t, at, message(binary.LittleEndian, magic, version))
	h.ahead = time.Minute
	h.mu.Unlock()
	for range 2 {
		if got := await(t, became); got != "late" {
			t.Errorf("what waited is %q", got)
		}
	}
	if n := l.count("late"); n != 2 {
		t.Errorf("%d of 2 are counted as late", n)
	}
	send(t, at, message(binary.LittleEndian, magic, version))
	if got := await(t, c.wrote); got != "a 127.0.0.1" || len(c.wrote) > 0 {
		t.Error("written down:", got, len(c.wrote))
	}
}

// TestWhatNeverEndsProvesNothing: in a socket that is never seen empty any message may have
// waited.
func TestWhatNeverEndsProvesNothing(t *testing.T) { // S2
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	l := newListener(t, nil, nil, kube.Elapsed)
	in := &socket{conn: conn, elapsed: func() time.Duration { return time.Hour }, looked: l.look}
	buf := make([]byte, size+1)
	for range 3 {
		send(t, conn.LocalAddr().(*net.UDPAddr), message(binary.LittleEndian, magic, version))
	}
	for range 3 {
		if n, from, err := in.read(buf); err != nil || n != size || from != netip.MustParseAddr("127.0.0.1") {
			t.Fatal(n, from, err)
		}
		if in.empty != 0 {
			t.Errorf("more waited, and it was seen empty at %s", in.empty)
		}
	}
	if l.addresses.learn(nil, 0); l.Ready() == nil {
		t.Error("it is ready before it has seen the socket empty")
	}
}

// child is set where this program is to receive, and to be stopped.
const child = "NODEFENCE_KDUMP_TEST_CHILD"

// TestStoppedProcess: a process that the kernel has stopped, or that gets no CPU time, does
// not take any message that came meanwhile for new.
func TestStoppedProcess(t *testing.T) { // S1, S2
	if os.Getenv(child) != "" {
		listenAndTell()
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestStoppedProcess$")
	cmd.Env = append(os.Environ(), child+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	said := make(chan string, 10)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			said <- s.Text()
		}
	}()
	at, err := net.ResolveUDPAddr("udp4", await(t, said))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it does not stand still: %v, status %x", err, status)
	}
	send(t, at, message(binary.LittleEndian, magic, version))
	<-time.After(fresh) // its message is old then, whatever else goes on
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := await(t, said); got != "late" {
		t.Errorf("a message that waited while it stood still is %q", got)
	}
	send(t, at, message(binary.LittleEndian, magic, version))
	if got := await(t, said); got != "a 127.0.0.1" {
		t.Errorf("then a new one is %q", got)
	}
}

// listenAndTell prints what it receives on standard output, until its input ends.
func listenAndTell() {
	c := newCluster(node("a", "127.0.0.1"))
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		panic(err)
	}
	l, err := New(Options{Cluster: c, Source: events.SourceOf("test"), Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Elapsed: kube.Elapsed})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); stop() }()
	became := results(l)
	go func() {
		<-l.addresses.known
		<-l.empty
		fmt.Println(conn.LocalAddr())
		fmt.Println(<-became)
		for w := range c.wrote {
			fmt.Println(w)
		}
	}()
	_ = l.Run(ctx, conn)
}

// count is how many datagrams had this result.
func (l *Listener) count(result string) (n int) {
	families, _ := l.o.Registerer.(*prometheus.Registry).Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == result {
				n += int(m.GetCounter().GetValue())
			}
		}
	}
	return n
}

// results gets the result of each datagram, for a listener that does not run yet.
func results(l *Listener) <-chan string {
	all, count := make(chan string, 100), l.became
	l.became = func(result string) {
		count(result)
		all <- result
	}
	return all
}
