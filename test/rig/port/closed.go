package port

import (
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Closed is a TCP address of this machine on which nobody listens, and on which no other program
// can: after a listener is closed, another program might listen there a moment later.
type Closed struct {
	Addr string
	fd   int
}

// NewClosed takes an address. A connection to it is refused.
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

// Open accepts connections and does nothing with them, which is enough of an answer.
func (c *Closed) Open() error { return syscall.Listen(c.fd, syscall.SOMAXCONN) }

// Close releases the address.
func (c *Closed) Close() error { return syscall.Close(c.fd) }
