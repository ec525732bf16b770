package kdump

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// peek is how long one wait for the socket lasts before the socket is looked at again.
const peek = 250 * time.Millisecond

// socket reads datagrams, and knows for each since when it may have waited. The kernel
// queues datagrams while this process is stopped, and it timestamps them only by the wall
// clock, which jumps (S30).
type socket struct {
	conn    *net.UDPConn
	elapsed func() time.Duration
	// empty is when the socket was last seen empty: what is read later came after that.
	empty time.Duration
	// looked is called each time the socket is seen empty.
	looked func()
}

// read waits for a datagram.
func (s *socket) read(buf []byte) (n int, from netip.Addr, err error) {
	raw, err := s.conn.SyscallConn()
	if err != nil {
		return 0, from, err
	}
	for {
		if err := s.conn.SetReadDeadline(time.Now().Add(peek)); err != nil {
			return 0, from, err
		}
		var sender syscall.Sockaddr
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			now := s.elapsed() // taken before the read: this process may be stopped after it
			n, sender, failed = syscall.Recvfrom(int(fd), buf, syscall.MSG_DONTWAIT)
			if errors.Is(failed, syscall.EAGAIN) {
				s.empty = now
				s.looked()
				return false
			}
			return true
		})
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(failed, syscall.EINTR):
			continue // a timeout does not mean that no datagram waits
		case err == nil:
			err = failed
		}
		return n, addressOf(sender), err
	}
}

func addressOf(a syscall.Sockaddr) netip.Addr {
	switch a := a.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrFrom4(a.Addr)
	case *syscall.SockaddrInet6:
		return netip.AddrFrom16(a.Addr)
	}
	return netip.Addr{}
}
