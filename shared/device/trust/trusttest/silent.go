package trusttest

import (
	"io"
	"net"
	"testing"
)

// Silent takes one connection, reads what is sent, and answers nothing. ended waits until the other
// side is gone, and returns how that ended: nil for a close, or the error of a reset.
func Silent(t testing.TB) (addr string, ended func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	result := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, c)
			_ = c.Close()
		}
		result <- err
	}()
	return l.Addr().String(), func() error { return <-result }
}
