package wire

import "fmt"

// Message is one request to a BMC, or one answer of the BMC, whose first byte of data is
// the completion code.
type Message struct {
	NetFn, Command byte
	// Sequence is the requester's number, of six bits.
	Sequence byte
	Data     []byte
}

// The network functions of requests. An answer's is greater by one.
const (
	Chassis = 0x00
	App     = 0x06
)

const (
	bmcAddress     = 0x20
	consoleAddress = 0x81
	// shortest is the length of a message without data.
	shortest = 7
)

// Request writes a message to the BMC.
func (m Message) Request() []byte { return m.between(bmcAddress, consoleAddress) }

// Response writes a message of the BMC.
func (m Message) Response() []byte { return m.between(consoleAddress, bmcAddress) }

func (m Message) between(to, from byte) []byte {
	b := []byte{to, m.NetFn << 2}
	b = append(b, checksum(b), from, m.Sequence<<2, m.Command)
	b = append(b, m.Data...)
	return append(b, checksum(b[3:]))
}

// ParseMessage reads a message in either direction.
func ParseMessage(b []byte) (Message, error) {
	switch {
	case len(b) < shortest:
		return Message{}, fmt.Errorf("%w: a message of %d bytes", ErrMalformed, len(b))
	case checksum(b[:2]) != b[2]:
		return Message{}, fmt.Errorf("%w: wrong checksum of its header", ErrMalformed)
	case checksum(b[3:len(b)-1]) != b[len(b)-1]:
		return Message{}, fmt.Errorf("%w: wrong checksum", ErrMalformed)
	}
	return Message{NetFn: b[1] >> 2, Sequence: b[4] >> 2, Command: b[5], Data: b[6 : len(b)-1]}, nil
}

// Answers checks that a message answers this request, and returns its completion code and
// its data.
func (m Message) Answers(request Message) (code byte, data []byte, err error) {
	switch {
	case m.NetFn != request.NetFn+1 || m.Command != request.Command || m.Sequence != request.Sequence:
		return 0, nil, fmt.Errorf("%w: network function %#x, command %#x, sequence %d", ErrOther, m.NetFn, m.Command, m.Sequence)
	case len(m.Data) == 0:
		return 0, nil, fmt.Errorf("%w: no completion code", ErrMalformed)
	}
	return m.Data[0], m.Data[1:], nil
}

// checksum is the byte that makes the sum of all bytes 0.
func checksum(b []byte) byte {
	var sum byte
	for _, x := range b {
		sum += x
	}
	return -sum
}
