package rmcp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// TestSentAgain: a login that failed because one of its messages was sent again is not
// reported as a wrong password. A wrong password costs one login, or two of which the BMC
// counts one.
func TestSentAgain(t *testing.T) {
	var all sync.WaitGroup
	for name, tc := range map[string]struct {
		bmc
		password string
		// heard are the messages of each login: Open Session, RAKP 1 and 3, and a minus that
		// gives up.
		heard string
		want  error
	}{
		"nothing":                             {bmc{}, right, "O13", nil},
		"nothing, the password is wrong":      {bmc{}, "another", "O1-", wire.ErrWrongCode},
		"nothing, the BMC says so":            {bmc{never: wire.RAKP3, no: wire.BadCode}, right, "O13", wire.BadCode},
		"Open Session":                        {bmc{late: wire.OpenRequest}, right, "OO1 O13", nil},
		"Open Session, of which one is lost":  {bmc{late: wire.OpenRequest, lost: true}, right, "OO13", nil},
		"Open Session, the first is inactive": {bmc{late: wire.OpenRequest, no: wire.Inactive}, right, "OO1 O13", nil},
		"Open Session, the first is invalid":  {bmc{late: wire.OpenRequest, no: wire.BadSession}, right, "OO1 O13", nil},
		"Open Session, the first is dropped":  {bmc{late: wire.OpenRequest, drops: true}, right, "OO111 O13", nil},
		"Open Session, the user is unknown":   {bmc{late: wire.OpenRequest, no: wire.BadName}, right, "OO1", wire.BadName},
		"Open Session, the password is wrong": {bmc{late: wire.OpenRequest}, "another", "OO1 O1-", wire.ErrWrongCode},
		"Open Session, of an old session":     {bmc{stale: 1}, right, "OOO O13", nil},
		"Open Session, of old sessions":       {bmc{stale: 2}, right, "OOO O", wire.ErrNotAuthentic},
		"Open Session, and the BMC is gone":   {bmc{late: wire.OpenRequest, gone: 2}, right, "OO1 O", ErrSilent},
		"Open Session, and there is no BMC":   {bmc{gone: 1}, right, "OOO", ErrSilent},
		"RAKP 1, what fits the first":         {bmc{late: wire.RAKP1, no: wire.BadCode}, right, "O113 O13", nil},
		"RAKP 1, what fits the first, unsaid": {bmc{late: wire.RAKP1, drops: true}, right, "O11333 O13", nil},
		"RAKP 1, always no":                   {bmc{late: wire.RAKP1, never: wire.RAKP3, no: wire.BadCode}, right, "O113 O13", wire.BadCode},
		"RAKP 3, the session is open by then": {bmc{late: wire.RAKP3, lost: true, no: wire.BadSession}, right, "O133 O13", nil},
		"RAKP 3, the user may not so much":    {bmc{late: wire.RAKP3, lost: true, no: wire.RoleTooHigh}, right, "O133", wire.RoleTooHigh},
	} {
		b, l := tc.bmc, known(wire.Suite3)
		b.listen(t)
		all.Go(func() { // they wait, and more than two can
			s, err := Dial(t.Context(), Config{Address: b.conn.LocalAddr().String(), Suite: l.Suite, User: l.User, Password: tc.password, Privilege: l.Privilege})
			if s != nil {
				_ = s.conn.Close()
			}
			if heard := b.end(); heard != tc.heard || !errors.Is(err, tc.want) || (s == nil) != (err != nil) {
				t.Errorf("%s: %v after %q, want %v after %q", name, err, heard, tc.want, tc.heard)
			}
		})
	}
	all.Wait()
}

const right = "hunter-2-hunter"

// bmc has one session: each Open Session makes another one of it, each RAKP 1 draws another
// random number, and neither looks at what it was told before.
type bmc struct {
	// late is the message whose answer, in the first login, waits for its being sent again.
	late wire.Type
	// lost: it waits for ever.
	lost bool
	// no refuses what is of another session or does not fit; without it, RAKP 1 may be of any.
	no wire.Status
	// drops: it is not refused, but dropped.
	drops bool
	// never is the message that is always refused.
	never wire.Type
	// gone is the login from which on nothing is answered.
	gone int
	// stale is the last login that is answered in the name of the session before it, which had
	// the same port, as pyghmi does.
	stale int

	conn   *net.UDPConn
	done   chan struct{}
	from   string
	logins []string
	login  wire.Login
	open   bool
	held   []byte
}

func (b *bmc) listen(t *testing.T) {
	t.Helper()
	var err error
	if b.conn, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.conn.Close() })
	b.login, b.done = known(wire.Suite3), make(chan struct{})
	go func() {
		defer close(b.done)
		in := make([]byte, wire.Most)
		for {
			n, from, err := b.conn.ReadFromUDP(in)
			if err != nil || n == 0 {
				return
			}
			for _, answer := range b.hear(in[:n], from.String()) {
				_, _ = b.conn.WriteToUDP(answer, from)
			}
		}
	}()
}

// end is what it has heard until now.
func (b *bmc) end() string {
	if _, err := b.conn.WriteTo(nil, b.conn.LocalAddr()); err != nil {
		return err.Error()
	}
	<-b.done
	return strings.Join(b.logins, " ")
}

var letters = map[wire.Type]string{wire.OpenRequest: "O", wire.RAKP1: "1", wire.RAKP3: "3"}

// hear gives what it sends now. Each socket is a login.
func (b *bmc) hear(in []byte, from string) [][]byte {
	if b.from != from {
		b.from, b.logins = from, append(b.logins, "")
	}
	p, _, _ := wire.Parse(in) // it is one of ours
	letter := letters[p.Type]
	if p.Payload[1] != 0 {
		letter = "-"
	}
	b.logins[len(b.logins)-1] += letter
	if letter == "-" || b.gone > 0 && len(b.logins) >= b.gone {
		return nil
	}
	if len(b.logins) <= b.stale {
		return [][]byte{wire.Packet{Type: wire.OpenResponse | 0xc0, Session: 0x16d23db0, Sequence: 9, Payload: opened(b.login)}.Append(nil)}
	}
	answer := b.answer(p)
	if answer == nil {
		return nil
	}
	if len(b.logins) > 1 || p.Type != b.late {
		return [][]byte{answer}
	}
	if b.held == nil {
		b.held = answer
		return nil
	}
	if b.lost {
		return [][]byte{answer}
	}
	return [][]byte{b.held, answer}
}

// answer is nil for what is dropped.
func (b *bmc) answer(p wire.Packet) []byte {
	l := &b.login
	l.Tag = p.Payload[0]
	id := binary.LittleEndian.Uint32(p.Payload[4:])
	fits := id == l.BMC
	switch p.Type {
	case wire.OpenRequest:
		l.Console, b.open, fits = id, false, true
		l.BMC++
	case wire.RAKP1:
		copy(l.Mine[:], p.Payload[8:])
		l.Theirs[0]++
		fits = fits || b.no == 0 && !b.drops
	case wire.RAKP3:
		fits = fits && !b.open && bytes.Equal(p.Payload, l.RAKP3().Payload)
		b.open = true
	}
	switch {
	case p.Type == b.never, !fits && !b.drops:
		no := to(*l)
		no[1] = byte(b.no)
		return wire.Packet{Type: p.Type + 1, Payload: no}.Append(nil)
	case !fits:
		return nil
	case p.Type == wire.OpenRequest:
		return opened(*l)
	case p.Type == wire.RAKP1:
		return rakp2(*l)
	}
	return rakp4(*l)
}
