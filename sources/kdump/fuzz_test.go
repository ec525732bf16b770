package kdump

import (
	"bytes"
	"testing"
)

// FuzzMessage reads a datagram. Only the two forms of fence_kdump_send's one message are taken.
func FuzzMessage(f *testing.F) {
	little, big := []byte{0x40, 0x2A, 0x30, 0x1B, 1, 0, 0, 0}, []byte{0x1B, 0x30, 0x2A, 0x40, 0, 0, 0, 1}
	for _, b := range [][]byte{little, big, little[:7], append(big, 0), {0x40, 0x2A, 0x30, 0x1B, 2, 0, 0, 0}, {}} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := check(b); (err == nil) != (bytes.Equal(b, little) || bytes.Equal(b, big)) {
			t.Errorf("%x: %v", b, err)
		}
	})
}
