package rmcp

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// Config is what a login needs.
type Config struct {
	// Address is host:port.
	Address        string
	Suite          wire.Suite
	User, Password string
	// Privilege is the level in which requests are made.
	Privilege byte
}

// Session is one that is open, with its socket.
type Session struct {
	conn         net.Conn
	keys         wire.Keys
	console, bmc uint32
	sent         uint32
	got          window
	// requests is the sequence number of the last one, of six bits.
	requests byte
}

// Dial logs in.
func Dial(ctx context.Context, c Config) (*Session, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", c.Address)
	if err != nil {
		return nil, err
	}
	s := &Session{conn: conn}
	if err := s.login(ctx, c); err != nil {
		_ = conn.Close() // a socket without a peer has nothing to tell
		return nil, err
	}
	return s, nil
}

// login is Open Session and RAKP 1 to 4.
func (s *Session) login(ctx context.Context, c Config) error {
	l := &wire.Login{Suite: c.Suite, User: c.User, Password: c.Password, Privilege: c.Privilege, Console: number()}
	_, _ = rand.Read(l.Mine[:]) // it never fails
	step := func(name string, p func() wire.Packet, take func([]byte) error) error {
		l.Tag++
		b := p().Append(nil)
		if err := exchange(ctx, s.conn, 1+resend, func() []byte { return b }, take); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	if err := step("Open Session", l.Open, l.Opened); err != nil {
		return err
	}
	if err := step("RAKP 1", l.RAKP1, l.RAKP2); err != nil {
		if errors.Is(err, wire.ErrWrongCode) {
			_, _ = s.conn.Write(l.GiveUp().Append(nil)) // the BMC forgets the login by itself, later
		}
		return err
	}
	if err := step("RAKP 3", l.RAKP3, func(b []byte) (err error) {
		s.keys, err = l.RAKP4(b)
		return err
	}); err != nil {
		return err
	}
	s.console, s.bmc = l.Console, l.BMC
	return nil
}

// number is a session's own that nobody guesses.
func number() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return max(1, binary.LittleEndian.Uint32(b[:]))
}

// Read sends a request that changes nothing, again if its answer does not come.
func (s *Session) Read(ctx context.Context, netFn, command byte, data ...byte) (code byte, answer []byte, err error) {
	return s.do(ctx, 1+resend, netFn, command, data)
}

// Send sends a request once. Without an answer nobody knows whether it took effect.
func (s *Session) Send(ctx context.Context, netFn, command byte, data ...byte) (code byte, answer []byte, err error) {
	return s.do(ctx, 1, netFn, command, data)
}

func (s *Session) do(ctx context.Context, tries int, netFn, command byte, data []byte) (code byte, answer []byte, err error) {
	if s.requests++; s.requests > 63 {
		return 0, nil, errors.New("too many requests for one session")
	}
	m := wire.Message{NetFn: netFn, Command: command, Sequence: s.requests, Data: data}
	err = exchange(ctx, s.conn, tries, func() []byte { return s.seal(m.Request()) }, func(b []byte) (err error) {
		code, answer, err = s.take(b, m)
		return err
	})
	return code, answer, err
}

// seal numbers each packet anew, also one that is sent again.
func (s *Session) seal(payload []byte) []byte {
	s.sent++
	var iv [16]byte
	_, _ = rand.Read(iv[:]) // it never fails
	return s.keys.Seal(wire.Packet{Type: wire.Sealed, Session: s.bmc, Sequence: s.sent, Payload: payload}, iv)
}

// take is the way from a datagram to an answer.
func (s *Session) take(b []byte, request wire.Message) (code byte, answer []byte, err error) {
	p, err := s.keys.Unseal(b, s.console)
	if err != nil {
		return 0, nil, err
	}
	if err := s.got.take(p.Sequence); err != nil {
		return 0, nil, err
	}
	m, err := wire.ParseMessage(p.Payload)
	if err != nil {
		return 0, nil, err
	}
	return m.Answers(request)
}

const closeSession = 0x3c

// Close ends the session. A BMC ends one by itself that is left, and has few of them.
func (s *Session) Close(ctx context.Context) {
	var id [4]byte
	binary.LittleEndian.PutUint32(id[:], s.bmc)
	_, _, _ = s.Send(ctx, wire.App, closeSession, id[:]...) // as above
	_ = s.conn.Close()
}
