package kdump

import (
	"encoding/binary"
	"fmt"
)

// What fence_kdump_send puts on the wire: a magic number and a version, each of
// four bytes in the order of the machine that sends.
const (
	magic   = 0x1B302A40
	version = 1
	size    = 8
	// Port is the one that fence_kdump_send sends to unless told otherwise.
	Port = 7410
)

// check tells whether a datagram is such a message. Nothing in it says whose.
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
