package wire

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"
	"fmt"
)

// Login is what both ends know of a login. The caller supplies the random values.
type Login struct {
	Suite
	User, Password string
	// Privilege is the highest level of the session.
	Privilege byte
	// Tag is in each message of the login and in its answer.
	Tag byte
	// Console and BMC are the session's number at each end.
	Console, BMC uint32
	// Mine and Theirs are the random numbers of console and BMC.
	Mine, Theirs [16]byte
	GUID         [16]byte
}

// byName makes the BMC look for the user by name only, and not by name and level.
const byName = 0x10

// Status is the reason with which a BMC refuses a login. It is not authenticated.
type Status byte

func (s Status) Error() string {
	if word, ok := statuses[s]; ok {
		return word
	}
	return fmt.Sprintf("RMCP+ status %#02x", byte(s))
}

// The statuses that say what to correct.
const (
	Full        Status = 0x01
	BadSession  Status = 0x02
	Inactive    Status = 0x08
	FullAtRole  Status = 0x0b
	BadRole     Status = 0x09
	RoleTooHigh Status = 0x0a
	BadName     Status = 0x0d
	BadCode     Status = 0x0f
	NoSuite     Status = 0x11
)

var statuses = map[Status]string{
	Full: "all sessions are taken", BadSession: "invalid session ID", 0x03: "invalid payload type",
	0x04: "authentication algorithm not supported", 0x05: "integrity algorithm not supported", 0x06: "no matching authentication payload",
	0x07: "no matching integrity payload", Inactive: "inactive session ID", BadRole: "invalid privilege level",
	RoleTooHigh: "the user may not have this privilege level", FullAtRole: "all sessions at this privilege level are taken",
	0x0c: "invalid length of the user's name", BadName: "unknown user", 0x0e: "unauthorized GUID",
	BadCode: "wrong password", 0x10: "confidentiality algorithm not supported",
	NoSuite: "cipher suite not supported", 0x12: "invalid parameter",
}

// ErrWrongCode is a RAKP 2 or 4 that does not fit the password.
var ErrWrongCode = fmt.Errorf("%w: its key exchange code does not fit the password", ErrNotAuthentic)

// Open asks for a session with the algorithms of the suite.
func (l *Login) Open() Packet {
	b := []byte{l.Tag, 0, 0, 0} // 0: the highest level that there is; RAKP 1 names ours
	b = binary.LittleEndian.AppendUint32(b, l.Console)
	return Packet{Type: OpenRequest, Payload: l.algorithms(b)}
}

// algorithms writes the suite in the form of both messages of Open Session.
func (l *Login) algorithms(b []byte) []byte {
	for i, a := range []byte{l.Authentication, l.Integrity, l.Confidentiality} {
		b = append(b, byte(i), 0, 0, 8, a, 0, 0, 0)
	}
	return b
}

// answer checks the fields common to all answers of a login, and returns the rest of the
// payload.
func (l *Login) answer(b []byte, want Type, length int) ([]byte, error) {
	p, trailer, err := Parse(b)
	switch {
	case err != nil:
		return nil, err
	case p.Type != want || p.Session != 0 || p.Sequence != 0:
		return nil, fmt.Errorf("%w: payload type %#02x of session %#08x, want %#02x of none", ErrNotAuthentic, byte(p.Type), p.Session, byte(want))
	case len(trailer) > 0:
		return nil, fmt.Errorf("%w: %d bytes after its payload", ErrMalformed, len(trailer))
	case len(p.Payload) < 8:
		return nil, fmt.Errorf("%w: a payload of %d bytes", ErrMalformed, len(p.Payload))
	case p.Payload[0] != l.Tag:
		return nil, fmt.Errorf("%w: to another message of a login", ErrNotAuthentic)
	case binary.LittleEndian.Uint32(p.Payload[4:]) != l.Console && !(p.Payload[1] != 0 && want == OpenResponse):
		return nil, fmt.Errorf("%w: to another login", ErrNotAuthentic)
	case p.Payload[1] != 0:
		return nil, Status(p.Payload[1])
	case len(p.Payload) != length:
		return nil, fmt.Errorf("%w: a payload of %d bytes, want %d", ErrMalformed, len(p.Payload), length)
	}
	return p.Payload[8:], nil
}

// Weaker is an Open Session Response with other algorithms than were requested.
type Weaker struct{ Asked, Offered Algorithms }

func (w *Weaker) Error() string {
	return fmt.Sprintf("%s: it has %s; cipher suite asks for %s", ErrNotAuthentic, w.Offered, w.Asked)
}

// Unwrap returns the kind of this error.
func (w *Weaker) Unwrap() error { return ErrNotAuthentic }

// Opened reads the answer to Open. An answer with other algorithms than were requested is
// refused, because nothing would prove who sends the messages that follow.
func (l *Login) Opened(b []byte) error {
	rest, err := l.answer(b, OpenResponse, 36)
	if err != nil {
		return err
	}
	id, offered := binary.LittleEndian.Uint32(rest), rest[4:]
	if got := (Algorithms{offered[4], offered[12], offered[20]}); got != l.Algorithms {
		return &Weaker{Asked: l.Algorithms, Offered: got}
	}
	for i := range 3 {
		if offered[8*i] != byte(i) || offered[8*i+3] != 8 {
			return fmt.Errorf("%w: broken algorithms", ErrMalformed)
		}
	}
	if id == 0 {
		return fmt.Errorf("%w: session 0", ErrMalformed)
	}
	l.BMC = id
	return nil
}

// RAKP1 sends our random number and the user.
func (l *Login) RAKP1() Packet {
	b := binary.LittleEndian.AppendUint32([]byte{l.Tag, 0, 0, 0}, l.BMC)
	b = append(b, l.Mine[:]...)
	b = append(b, l.role(), 0, 0)
	b = append(b, l.name()[1:]...)
	return Packet{Type: RAKP1, Payload: b}
}

func (l *Login) role() byte { return byName | l.Privilege }

// name is the role, and the user's name after its length.
func (l *Login) name() []byte {
	return append([]byte{l.role(), byte(len(l.User))}, l.User...)
}

// RAKP2 reads the BMC's random number, if its sender knows the password.
func (l *Login) RAKP2(b []byte) error {
	rest, err := l.answer(b, RAKP2, 8+16+16+l.hash().Size())
	if err != nil {
		return err
	}
	try := *l
	copy(try.Theirs[:], rest)
	copy(try.GUID[:], rest[16:])
	if !hmac.Equal(try.Code2(), rest[32:]) {
		return ErrWrongCode
	}
	*l = try
	return nil
}

// Code2 is the key exchange code of RAKP 2.
func (l *Login) Code2() []byte {
	return l.mac([]byte(l.Password), le(l.Console), le(l.BMC), l.Mine[:], l.Theirs[:], l.GUID[:], l.name())
}

// RAKP3 proves that we know the password.
func (l *Login) RAKP3() Packet {
	b := binary.LittleEndian.AppendUint32([]byte{l.Tag, 0, 0, 0}, l.BMC)
	return Packet{Type: RAKP3, Payload: append(b, l.mac([]byte(l.Password), l.Theirs[:], le(l.Console), l.name())...)}
}

// GiveUp is a RAKP 3 that gives up, so that the BMC forgets the login.
func (l *Login) GiveUp() Packet {
	return Packet{Type: RAKP3, Payload: binary.LittleEndian.AppendUint32([]byte{l.Tag, byte(BadCode), 0, 0}, l.BMC)}
}

// RAKP4 reads the BMC's confirmation that the session is open, if its sender has the keys.
func (l *Login) RAKP4(b []byte) (Keys, error) {
	rest, err := l.answer(b, RAKP4, 8+l.code)
	if err != nil {
		return Keys{}, err
	}
	if !hmac.Equal(l.Code4(), rest) {
		return Keys{}, fmt.Errorf("%w: wrong integrity check value", ErrNotAuthentic)
	}
	return l.Keys(), nil
}

// Code4 is the integrity check value of RAKP 4.
func (l *Login) Code4() []byte {
	return l.mac(l.sik(), l.Mine[:], le(l.BMC), l.GUID[:])[:l.code]
}

func (l *Login) sik() []byte {
	return l.mac([]byte(l.Password), l.Mine[:], l.Theirs[:], l.name())
}

// Keys returns the keys of the session that the login has opened.
func (l *Login) Keys() Keys {
	constant := func(b byte) []byte { return l.mac(l.sik(), bytes.Repeat([]byte{b}, 20)) }
	return Keys{suite: l.Suite, k1: constant(1), k2: constant(2)}
}

func le(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
