package plane

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dialLimit is far more than a connection on loopback takes; it bounds how long
// a process that hangs can hold up the namespace's thread.
const dialLimit = 5 * time.Second

// netns is a network namespace with nothing but loopback. One thread of ours
// lives in it; what has to happen inside is done there. The kernel removes the
// namespace with its last thread, so nothing is left even if we are killed.
type netns struct {
	work chan func()
	gone chan struct{}
}

// Missing says what this machine lacks for network namespaces; nil if nothing.
func Missing() error {
	n, err := newNetns()
	if err != nil {
		return fmt.Errorf("network namespaces need root (CAP_SYS_ADMIN): %w", err)
	}
	n.close()
	return nil
}

func newNetns() (*netns, error) {
	n := &netns{work: make(chan func()), gone: make(chan struct{})}
	made := make(chan error)
	go func() {
		defer close(n.gone)
		// Never unlocked: Go ends the thread with this goroutine instead of
		// using it for others, who would find themselves in here.
		runtime.LockOSThread()
		err := enterNew()
		made <- err
		if err != nil {
			return
		}
		for f := range n.work {
			f()
		}
	}()
	if err := <-made; err != nil {
		return nil, err
	}
	return n, nil
}

func enterNew() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make network namespace: %w", err)
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	defer func() { _ = unix.Close(s) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	return nil
}

// inside runs f on the thread in the namespace and returns when it has.
func (n *netns) inside(f func()) {
	done := make(chan struct{})
	n.work <- func() { defer close(done); f() }
	<-done
}

// A socket belongs to the namespace of the thread that opens it. For an address
// that is a number, Go opens it on the goroutine that asks.

func (n *netns) listen(addr string) (l net.Listener, err error) {
	n.inside(func() { l, err = net.Listen("tcp", addr) })
	return l, err
}

func (n *netns) dial(ctx context.Context, addr string) (c net.Conn, err error) {
	n.inside(func() { c, err = (&net.Dialer{Timeout: dialLimit}).DialContext(ctx, "tcp", addr) })
	return c, err
}

// start runs a process inside. It is killed when our thread ends, so it cannot
// outlive the test.
func (n *netns) start(cmd *exec.Cmd) (err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	n.inside(func() { err = cmd.Start() })
	return err
}

func (n *netns) close() {
	close(n.work)
	<-n.gone
}
