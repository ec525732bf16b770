package ipmitest

import (
	"bytes"
	"slices"

	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// lie is an answer to the same request with the contrary meaning: on for off, another GUID,
// no for yes.
func (c *conversation) lie() wire.Message {
	m := *c.answer
	m.Data = slices.Clone(m.Data)
	switch {
	case m.Command == status && len(m.Data) > 1:
		m.Data[1] ^= 1
	case m.Command == guid && len(m.Data) > 16:
		for i := range m.Data[1:] {
			m.Data[1+i] = byte(0x5a ^ i)
		}
	default:
		m.Data = []byte{0xd4}
	}
	return m
}

// The commands whose answers are worth forging.
const (
	status = 0x01
	guid   = 0x37
)

// forgeries are all lies about an answer, by what is wrong with each.
func (c *conversation) forgeries(answer []byte) map[string][]byte {
	if c.answer == nil {
		return c.ofLogin(answer)
	}
	m := c.lie()
	said := m.Response()
	last := c.sent
	all := map[string][]byte{
		"IPMI 1.5, without a session":    slices.Concat([]byte("\x06\x00\xff\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00"), []byte{byte(len(said))}, said),
		"in clear, without a session":    wire.Packet{Type: wire.IPMI, Payload: said}.Append(nil),
		"in clear, of our session":       c.as(wire.IPMI, said).Append(nil),
		"authenticated, not encrypted":   c.keys.Sign(c.as(wire.IPMI|wire.Authenticated, said)),
		"encrypted, not authenticated":   c.unsigned(said),
		"another payload type":           c.keys.Seal(c.as(wire.Sealed|1, said), iv),
		"wrong AuthCode":                 flip(c.seal(said), -1),
		"wrong AuthCode in its 1st byte": flip(c.seal(said), -c.code()),
		"without its AuthCode":           cut(c.seal(said), c.code()),
		"another session":                c.of(c.login.Console+1, said),
		"session 0":                      c.of(0, said),
		"sequence 0":                     c.numbered(0, said),
		"sequence far ahead":             c.numbered(c.sent+1000, said),
		"wrong checksum of its header":   c.seal(flip(slices.Clone(said), 2)),
		"wrong checksum":                 c.seal(flip(slices.Clone(said), -1)),
		"the request's network function": c.seal(wire.Message{NetFn: m.NetFn - 1, Command: m.Command, Sequence: m.Sequence, Data: m.Data}.Response()),
		"another network function":       c.seal(wire.Message{NetFn: m.NetFn + 4, Command: m.Command, Sequence: m.Sequence, Data: m.Data}.Response()),
		"another command":                c.seal(wire.Message{NetFn: m.NetFn, Command: m.Command + 1, Sequence: m.Sequence, Data: m.Data}.Response()),
		"another request's":              c.seal(wire.Message{NetFn: m.NetFn, Command: m.Command, Sequence: m.Sequence + 1, Data: m.Data}.Response()),
		"without a completion code":      c.seal(wire.Message{NetFn: m.NetFn, Command: m.Command, Sequence: m.Sequence}.Response()),
	}
	if last > 1 {
		all["a replayed sequence"] = c.numbered(last-1, said) // the last one is the genuine answer's
	}
	return all
}

// ofLogin are lies about an answer of a login, which end the login if they are believed.
func (c *conversation) ofLogin(answer []byte) map[string][]byte {
	all := map[string][]byte{
		"to another message":  flip(slices.Clone(answer), 16),
		"to another login":    flip(slices.Clone(answer), 20),
		"of a session":        flip(slices.Clone(answer), 6),
		"of another type":     flip(slices.Clone(answer), 5),
		"with bytes after it": append(slices.Clone(answer), 0),
	}
	switch c.kind {
	case wire.OpenResponse:
		for name, b := range all {
			all[name] = flip(b, 24) // as if from another session
		}
	case wire.RAKP2:
		for name, b := range all {
			all[name] = flip(b, 24) // with another random number
		}
		all["wrong key exchange code"] = flip(slices.Clone(answer), -1)
	case wire.RAKP4:
		all["wrong integrity check value"] = flip(slices.Clone(answer), -1)
	}
	return all
}

func (c *conversation) as(t wire.Type, payload []byte) wire.Packet {
	p := c.packet(payload)
	p.Type = t
	return p
}

func (c *conversation) of(session uint32, payload []byte) []byte {
	p := c.packet(payload)
	p.Session = session
	return c.keys.Seal(p, iv)
}

func (c *conversation) numbered(n uint32, payload []byte) []byte {
	p := c.packet(payload)
	c.sent-- // the number was not used
	p.Sequence = n
	return c.keys.Seal(p, iv)
}

// unsigned is encrypted, and not authenticated.
func (c *conversation) unsigned(payload []byte) []byte {
	p, _, _ := wire.Parse(c.seal(payload)) // it is one of our types
	p.Type = wire.IPMI | wire.Encrypted
	return p.Append(nil)
}

func (c *conversation) code() int {
	if c.login.Number == wire.Suite17.Number {
		return 16
	}
	return 12
}

// flip changes one byte, counted from the end if i is negative.
func flip(b []byte, i int) []byte {
	if i < 0 {
		i += len(b)
	}
	if i < len(b) {
		b[i] ^= 0x03
	}
	return b
}

func cut(b []byte, n int) []byte { return bytes.Clone(b[:len(b)-n]) }
