package port

import (
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Closed is a TCP address of this machine at which nobody listens, and nobody else
// can: where a listener was closed, another program's may be the next moment.
type Closed struct {
	Addr string
	fd   int
}

// NewClosed takes an address. Who connects to it is refused.
func NewClosed() (*Closed, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		_ = syscall.Close(fd)
		return nil, fmt.Errorf("take a port: %w", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		_ = syscall.Close(fd)
		return nil, fmt.Errorf("ask for the port: %w", err)
	}
	return &Closed{net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port)), fd}, nil
}

// Open lets connections in, of which nobody takes any: that is answer enough.
func (c *Closed) Open() error { return syscall.Listen(c.fd, syscall.SOMAXCONN) }

// Close gives the address back.
func (c *Closed) Close() error { return syscall.Close(c.fd) }
