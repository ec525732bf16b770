package port

import "testing"

// Nobody is a TCP address of this machine at which nobody listens as long as a test runs.
func Nobody(t testing.TB) string {
	t.Helper()
	c, err := NewClosed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.Addr
}

// UDP is one that nobody has.
func UDP(t testing.TB) int {
	t.Helper()
	number, err := FreeUDP()
	if err != nil {
		t.Fatal(err)
	}
	return number
}
