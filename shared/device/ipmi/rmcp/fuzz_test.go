package rmcp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// known is a login whose random numbers are fixed, so that its packets can be seeds.
func known(s wire.Suite) wire.Login {
	return wire.Login{
		Suite: s, User: "fence", Password: "hunter-2-hunter", Privilege: 3, Tag: 1,
		Console: 0x01020304, BMC: 0x0a0b0c0d, Mine: [16]byte{1, 2, 3}, Theirs: [16]byte{4, 5, 6}, GUID: [16]byte{7, 8, 9},
	}
}

// The messages of a BMC to that login, or one like it.
func opened(l wire.Login) []byte {
	b := binary.LittleEndian.AppendUint32(to(l), l.BMC)
	for i, a := range []byte{l.Authentication, l.Integrity, l.Confidentiality} {
		b = append(b, byte(i), 0, 0, 8, a, 0, 0, 0)
	}
	return wire.Packet{Type: wire.OpenResponse, Payload: b}.Append(nil)
}

func to(l wire.Login) []byte {
	return binary.LittleEndian.AppendUint32([]byte{l.Tag, 0, 0, 0}, l.Console)
}

func rakp2(l wire.Login) []byte {
	b := append(to(l), l.Theirs[:]...)
	b = append(append(b, l.GUID[:]...), l.Code2()...)
	return wire.Packet{Type: wire.RAKP2, Payload: b}.Append(nil)
}

func rakp4(l wire.Login) []byte {
	return wire.Packet{Type: wire.RAKP4, Payload: append(to(l), l.Code4()...)}.Append(nil)
}

// asked is the request that is under way, and on its answer.
var (
	asked = wire.Message{NetFn: wire.Chassis, Command: 1, Sequence: 9}
	on    = wire.Message{NetFn: wire.Chassis + 1, Command: 1, Sequence: 9, Data: []byte{0, 0x21, 0x10, 0x40}}
)

func sealed(l wire.Login, payload []byte) []byte {
	return l.Keys().Seal(wire.Packet{Type: wire.Sealed, Session: l.Console, Sequence: 1, Payload: payload}, [16]byte{1})
}

// FuzzAnswer is the way from a datagram to an answer, at each stage of a conversation. None
// ends the process, and none gets through that the BMC has not sealed. The same bytes are
// then sealed, as by a BMC that is broken.
func FuzzAnswer(f *testing.F) {
	for _, s := range []wire.Suite{wire.Suite3, wire.Suite17} {
		l := known(s)
		for _, b := range [][]byte{opened(l), rakp2(l), rakp4(l), sealed(l, on.Response()), on.Response()} {
			f.Add(b)
			f.Add(b[:len(b)-1])
			f.Add(b[:len(b)/2])
		}
	}
	f.Add([]byte{})
	reserved := rakp4(known(wire.Suite3))
	reserved[18] = 0x30
	f.Add(reserved)
	f.Add([]byte("\x06\x00\xff\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\x81\x04\x7b\x20\x24\x01\x00\xbb"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range []wire.Suite{wire.Suite3, wire.Suite17} {
			l := known(s)
			for name, take := range map[string]struct {
				of    func(*wire.Login) error
				right []byte
			}{
				"Open Session Response": {func(l *wire.Login) error { return l.Opened(b) }, nil},
				"RAKP 2":                {func(l *wire.Login) error { return l.RAKP2(b) }, nil},
				"RAKP 4":                {func(l *wire.Login) error { _, err := l.RAKP4(b); return err }, rakp4(l)},
			} {
				mine := l
				if err := take.of(&mine); err == nil && take.right != nil && !bytes.Equal(b[20:], take.right[20:]) { // before them nothing is authenticated
					t.Errorf("%s of other bytes was taken: %x", name, b)
				}
			}
			session := Session{keys: l.Keys(), console: l.Console}
			if _, _, err := session.take(b, asked); err == nil && !genuine(l, b) {
				t.Errorf("an answer was taken that is not the BMC's: %x", b)
			}
			session = Session{keys: l.Keys(), console: l.Console}
			_, answer, err := session.take(sealed(l, b), asked)
			if err == nil && !bytes.Contains(b, answer) {
				t.Errorf("the answer %x is not in %x", answer, b)
			}
			if err != nil && !errors.Is(err, wire.ErrMalformed) && !errors.Is(err, wire.ErrOther) {
				t.Errorf("%x, sealed: %v", b, err)
			}
		}
	})
}

// genuine: the only packet of this session that a seed has.
func genuine(l wire.Login, b []byte) bool {
	want := sealed(l, on.Response())
	return len(b) == len(want) && bytes.Equal(b[4:], want[4:])
}
