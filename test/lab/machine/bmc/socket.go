package bmc

import (
	"fmt"
	"net"
	"sync"
)

// socket is a UDP socket that can stop answering, altogether or for one answer.
type socket struct {
	*net.UDPConn

	mu      sync.Mutex
	silent  bool
	swallow map[string]int
}

func openSocket() (*socket, error) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("open BMC's socket: %w", err)
	}
	return &socket{UDPConn: conn, swallow: map[string]int{}}, nil
}

// ReadFrom drops what arrives while the socket is silent, as a BMC that hangs does. If it stayed
// in the buffer, it would be answered when the fault ends.
func (s *socket) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, addr, err := s.UDPConn.ReadFrom(b)
		if err != nil || !s.isSilent() {
			return n, addr, err
		}
	}
}

func (s *socket) WriteTo(b []byte, addr net.Addr) (int, error) {
	if s.lost(addr) {
		return len(b), nil
	}
	return s.UDPConn.WriteTo(b, addr)
}

func (s *socket) setSilent(silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = silent
}

func (s *socket) isSilent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// loseNext loses the next answer to addr.
func (s *socket) loseNext(addr net.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swallow[addr.String()]++
}

func (s *socket) lost(addr net.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent {
		return true
	}
	key := addr.String()
	if s.swallow[key] == 0 {
		return false
	}
	if s.swallow[key]--; s.swallow[key] == 0 {
		delete(s.swallow, key)
	}
	return true
}
