package port

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// TestFree: a program can listen on the address, and the kernel does not hand out its port.
func TestFree(t *testing.T) {
	for range 50 {
		addr, err := Free()
		if err != nil {
			t.Fatal(err)
		}
		_, p, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := strconv.Atoi(p); err != nil || n >= 32768 {
			t.Errorf("port %s is one that the kernel hands out", p)
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
}

// TestFreeUDP: the same for UDP.
func TestFreeUDP(t *testing.T) {
	for range 50 {
		n, err := FreeUDP()
		if err != nil {
			t.Fatal(err)
		}
		if n >= 32768 {
			t.Errorf("port %d is one that the kernel hands out", n)
		}
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: n})
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
}

// TestClosed: connections are refused, nobody else gets the address, and it can be opened.
func TestClosed(t *testing.T) {
	c, err := NewClosed()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", c.Addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v", err)
	}
	if _, err := net.Listen("tcp", c.Addr); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listen: %v", err)
	}
	if err := c.Open(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", c.Addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", c.Addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial once it is given back: %v", err)
	}
}
