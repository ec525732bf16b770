package rmcp

import (
	"bytes"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// peer is the BMC's port, which nobody has until it is opened.
type peer struct {
	*net.UDPConn
	t  testing.TB
	at *net.UDPAddr
	// sent is called after each packet has gone, and on loopback after what came back.
	sent func(n int)
	n    int
}

func bouncing(t testing.TB) *peer {
	t.Helper()
	closed, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, at: closed.LocalAddr().(*net.UDPAddr), sent: func(int) {}}
	if p.UDPConn, err = net.DialUDP("udp", nil, p.at); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Close(), closed.Close() })
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *peer) Write(b []byte) (int, error) {
	n, err := p.UDPConn.Write(b)
	p.n++
	p.sent(p.n)
	return n, err
}

// open has the port from here, and gives how to send from it.
func (p *peer) open() func(string) {
	c, err := net.ListenUDP("udp", p.at)
	if err != nil {
		p.t.Error(err)
		return func(string) {}
	}
	p.t.Cleanup(func() { _ = c.Close() })
	return func(s string) {
		if _, err := c.WriteTo([]byte(s), p.LocalAddr()); err != nil {
			p.t.Error(err)
		}
	}
}

// TestPortUnreachableEndsNothing: anybody can send an ICMP message, and a BMC that restarts
// has its port closed for a while. The exchange goes on until its own time is over.
func TestPortUnreachableEndsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		pace pace
		play func(p *peer)
	}{
		"the answer comes after it": {once, func(p *peer) {
			p.sent = func(n int) {
				if n == 1 {
					p.open()("yes")
				}
			}
		}},
		"it is told in place of sending": {once, func(p *peer) {
			_, _ = p.UDPConn.Write([]byte("of before")) // bounces
			answer := p.open()
			p.sent = func(n int) {
				if n == 2 {
					answer("yes")
				}
			}
		}},
		"the port is open for what is sent again": {brisk, func(p *peer) {
			p.sent = func(n int) {
				if n == 1 {
					answer := p.open()
					p.sent = func(int) { answer("yes") }
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := bouncing(t)
			tc.play(p)
			var got []byte
			err := exchange(t.Context(), p, tc.pace, func() []byte { return []byte("ask") }, func(b []byte) error {
				got = bytes.Clone(b)
				return nil
			})
			if err != nil || string(got) != "yes" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	t.Run("nobody comes", func(t *testing.T) {
		t.Parallel()
		err := exchange(t.Context(), bouncing(t), once, func() []byte { return []byte("ask") }, func([]byte) error { return wire.ErrOther })
		if !errors.Is(err, ErrSilent) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
	})
}
