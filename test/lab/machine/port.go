package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// port is the kubelet's, on the machine's own loopback address: it answers while a kernel lives,
// whether or not that reaches the API server. Without a living kernel it is silent, as a dead
// machine is. A closed port would refuse connections, which only a living machine can do. Silence
// is a socket from which nobody accepts and whose queue is full.
type port struct {
	listener *net.TCPListener
	number   int32
}

func newPort(host string) (*port, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen as kubelet: %w", err)
	}
	p := &port{listener: l.(*net.TCPListener), number: int32(l.Addr().(*net.TCPAddr).Port)}
	return p, p.silence()
}

// newPorts are the kubelets' of so many machines, all of them silent. They are closed once ctx ends. That one is
// silent takes a twentieth of a second to see, which thousands do not have one after the other.
func newPorts(ctx context.Context, machines int) ([]*port, error) {
	const atATime = 64
	all, errs := make([]*port, machines), make([]error, machines)
	var wg sync.WaitGroup
	for w := range min(atATime, machines) {
		wg.Go(func() {
			for i := w; i < machines; i += atATime {
				if all[i], errs[i] = newPort(kubeletAddress(i)); all[i] != nil {
					context.AfterFunc(ctx, func() { _ = all[i].listener.Close() })
				}
			}
		})
	}
	wg.Wait()
	return all, errors.Join(errs...)
}

// answer accepts connections until ctx ends, and is silent then.
func (p *port) answer(ctx context.Context) error {
	if err := errors.Join(p.queue(syscall.SOMAXCONN), p.listener.SetDeadline(time.Time{})); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.listener.SetDeadline(time.Now()) })
	defer stop()
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return p.silence()
		}
		if err != nil {
			return err
		}
		_ = conn.Close()
	}
}

// silence fills the queue, which holds one more than none.
func (p *port) silence() error {
	if err := p.queue(0); err != nil {
		return err
	}
	for range 8 {
		conn, err := net.DialTimeout("tcp4", p.listener.Addr().String(), 50*time.Millisecond)
		if err != nil {
			return nil
		}
		_ = conn.Close()
	}
	return fmt.Errorf("%s goes on answering", p.listener.Addr())
}

func (p *port) queue(length int) error {
	raw, err := p.listener.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), length) })
	return errors.Join(err, failed)
}
