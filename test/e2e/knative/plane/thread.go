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
// a process that hangs can hold up a thread.
const dialLimit = 5 * time.Second

// thread is one of ours that lives in a network namespace and does what has to
// happen there. The kernel removes a namespace with its last thread, and a
// process with the thread that started it, so nothing is left if we are killed.
type thread struct {
	work chan func()
	gone chan struct{}
}

// Missing says what this machine lacks for network namespaces; nil if nothing.
func Missing() error {
	t, err := newThread(newNamespace)
	if err != nil {
		return fmt.Errorf("network namespaces need root (CAP_SYS_ADMIN): %w", err)
	}
	t.end()
	return nil
}

// newThread starts a thread; enter puts it where it is to live.
func newThread(enter func() error) (*thread, error) {
	t := &thread{work: make(chan func()), gone: make(chan struct{})}
	entered := make(chan error)
	go func() {
		defer close(t.gone)
		// Never unlocked: Go ends the thread with this goroutine instead of
		// using it for others, who would find themselves in the namespace.
		runtime.LockOSThread()
		err := enter()
		entered <- err
		if err != nil {
			return
		}
		for f := range t.work {
			f()
		}
	}()
	return t, <-entered
}

// stay is for a thread that lives where all of this process does.
func stay() error { return nil }

// newNamespace enters a network namespace with nothing but loopback.
func newNamespace() error {
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

// do runs f on the thread and returns when it has.
func (t *thread) do(f func()) {
	done := make(chan struct{})
	t.work <- func() { defer close(done); f() }
	<-done
}

// A socket belongs to the namespace of the thread that opens it. For an address
// that is a number, Go opens it on the goroutine that asks.

func (t *thread) listen(addr string) (l net.Listener, err error) {
	t.do(func() { l, err = net.Listen("tcp", addr) })
	return l, err
}

func (t *thread) dial(ctx context.Context, addr string) (c net.Conn, err error) {
	t.do(func() { c, err = (&net.Dialer{Timeout: dialLimit}).DialContext(ctx, "tcp", addr) })
	return c, err
}

// start runs a process where the thread lives. It is killed when the thread
// ends, so it cannot outlive the test.
func (t *thread) start(cmd *exec.Cmd) (err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	t.do(func() { err = cmd.Start() })
	return err
}

func (t *thread) end() {
	close(t.work)
	<-t.gone
}
