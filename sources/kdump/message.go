package kdump

import (
	"encoding/binary"
	"fmt"
)

// The wire format of fence_kdump_send: a magic number and a version, each four bytes in the
// byte order of the sender.
const (
	magic   = 0x1B302A40
	version = 1
	size    = 8
	// Port is the default port of fence_kdump_send.
	Port = 7410
)

// check reports whether a datagram is a kdump message. The message does not say which node
// sent it.
func check(b []byte) error {
	if len(b) != size {
		return fmt.Errorf("%d bytes, a message has %d", len(b), size)
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if order.Uint32(b) != magic {
			continue
		}
		if v := order.Uint32(b[4:]); v != version {
			return fmt.Errorf("version %d, known is %d", v, version)
		}
		return nil
	}
	return fmt.Errorf("magic number %x, a message has %x", b[:4], uint32(magic))
}
