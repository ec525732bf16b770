package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The two reasons why a datagram is no answer.
var (
	// ErrNotAuthentic: anybody could have sent the datagram.
	ErrNotAuthentic = errors.New("answer not authenticated")
	// ErrMalformed: the datagram breaks the format.
	ErrMalformed = errors.New("malformed answer")
)

// ErrOther: an authentic answer to another request, for example the second answer to a
// request that was sent twice.
var ErrOther = errors.New("answer to another request")

// Type is a payload type, with its bits for an encrypted and an authenticated payload.
type Type byte

// The payload types.
const (
	IPMI         Type = 0x00
	OpenRequest  Type = 0x10
	OpenResponse Type = 0x11
	RAKP1        Type = 0x12
	RAKP2        Type = 0x13
	RAKP3        Type = 0x14
	RAKP4        Type = 0x15

	Authenticated Type = 0x40
	Encrypted     Type = 0x80
	// Sealed is the only type that is accepted in a session.
	Sealed = IPMI | Encrypted | Authenticated
)

// Packet is a datagram of RMCP+, without the trailer that authenticates it.
type Packet struct {
	Type     Type
	Session  uint32
	Sequence uint32
	Payload  []byte
}

const (
	rmcp   = 4         // the bytes of RMCP's header
	header = rmcp + 12 // with that of the session
	plus   = 0x06      // the authentication type of RMCP+
	most   = 1<<16 - 1 // of a payload
	Most   = 2048      // Most is more than any datagram of a BMC has.
	magic  = "\x06\x00\xff\x07"
)

// Append writes a packet without a trailer.
func (p Packet) Append(b []byte) []byte {
	b = append(b, magic...)
	b = append(b, plus, byte(p.Type))
	b = binary.LittleEndian.AppendUint32(b, p.Session)
	b = binary.LittleEndian.AppendUint32(b, p.Sequence)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(p.Payload)&most)) //nolint:gosec // ours are short
	return append(b, p.Payload...)
}

// Parse reads a packet, and returns what follows its payload.
func Parse(b []byte) (p Packet, trailer []byte, err error) {
	switch {
	case len(b) < rmcp+1 || b[0] != magic[0] || b[3] != magic[3]:
		return Packet{}, nil, fmt.Errorf("%w: no IPMI", ErrMalformed)
	case b[rmcp] != plus:
		return Packet{}, nil, fmt.Errorf("%w: IPMI 1.5, without a session of ours", ErrNotAuthentic)
	case len(b) < header:
		return Packet{}, nil, fmt.Errorf("%w: %d bytes are less than a header", ErrMalformed, len(b))
	}
	p = Packet{Type: Type(b[5]), Session: binary.LittleEndian.Uint32(b[6:]), Sequence: binary.LittleEndian.Uint32(b[10:])}
	if p.Type&^(Encrypted|Authenticated) == 2 {
		return Packet{}, nil, fmt.Errorf("%w: a payload of a manufacturer's own", ErrNotAuthentic)
	}
	n, rest := int(binary.LittleEndian.Uint16(b[14:])), b[header:]
	if n > len(rest) {
		return Packet{}, nil, fmt.Errorf("%w: a payload of %d bytes in %d", ErrMalformed, n, len(rest))
	}
	p.Payload = rest[:n:n]
	return p, rest[n:], nil
}
