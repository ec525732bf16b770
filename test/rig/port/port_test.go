package port

import (
	"net"
	"strconv"
	"testing"
)

// TestFree: what is given can be listened on, and is none that the kernel gives away.
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
