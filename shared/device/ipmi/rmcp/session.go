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

// Session is an open session, with its socket.
type Session struct {
	conn         net.Conn
	keys         wire.Keys
	console, bmc uint32
	sent         uint32
	got          window
	// requests is the sequence number of the last request, of six bits.
	requests byte
}

// Dial logs in. The BMC keeps state for each message of a login. A message that is sent
// again may begin another session there, or draw another random number; then what fits the
// first answer does not fit the BMC any more, and some BMCs report this as a wrong
// password. A login that may have failed for this reason is tried again, once, from a new
// socket and with new numbers. This time each message is sent once, so that an error means
// what it says. Forged answers can cause two logins, and no more. If no message was sent
// again, the error is returned at once: a BMC may lock an account after a few wrong
// passwords.
//
// A new tag for repeated messages would not help: a BMC that always answers later than the
// repetition could then not be logged in to at all.
func Dial(ctx context.Context, c Config) (*Session, error) {
	s := &Session{}
	doubtful, err := s.dial(ctx, c, brisk)
	if doubtful {
		// Where the time was over before there was a socket, the first login says more.
		if _, second := s.dial(ctx, c, patient); !noSocket(second) {
			err = second
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) dial(ctx context.Context, c Config, p pace) (doubtful bool, err error) {
	var d net.Dialer
	if s.conn, err = d.DialContext(ctx, "udp", c.Address); err != nil {
		return false, err
	}
	if doubtful, err = s.login(ctx, c, p); err != nil {
		_ = s.conn.Close() // a socket without a peer has nothing to report
	}
	return doubtful, err
}

func noSocket(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// login is Open Session and RAKP 1 to 4. It is doubtful if it may have failed because a
// message was sent again.
func (s *Session) login(ctx context.Context, c Config, p pace) (doubtful bool, err error) {
	l := &wire.Login{Suite: c.Suite, User: c.User, Password: c.Password, Privilege: c.Privilege, Console: number()}
	_, _ = rand.Read(l.Mine[:]) // it never fails
	again := false
	step := func(name string, message func() wire.Packet, take func([]byte) error) error {
		l.Tag++
		b, sent, before := message().Append(nil), 0, again
		err := exchange(ctx, s.conn, p, func() []byte { sent++; return b }, take)
		again = again || sent > 1
		if err != nil {
			doubtful = doubt(err, before, again)
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	if err := step("Open Session", l.Open, l.Opened); err != nil {
		// A BMC that knows sessions by the client's port, and does not forget them, answers in
		// the name of the session that had this port before. Another socket has another port.
		return doubtful || errors.Is(err, wire.ErrNotAuthentic), err
	}
	if err := step("RAKP 1", l.RAKP1, l.RAKP2); err != nil {
		// Some BMCs count it as a wrong password, so it is not sent in doubt: they forget
		// the login by themselves later.
		if errors.Is(err, wire.ErrWrongCode) && !doubtful {
			_, _ = s.conn.Write(l.GiveUp().Append(nil))
		}
		return doubtful, err
	}
	if err := step("RAKP 3", l.RAKP3, func(b []byte) (err error) {
		s.keys, err = l.RAKP4(b)
		return err
	}); err != nil {
		return doubtful, err
	}
	s.console, s.bmc = l.Console, l.BMC
	return false, nil
}

// doubt: some message of the login was sent again, and the BMC does not know the session,
// or has other numbers for it. If an earlier message was sent again, the BMC may also drop
// what does not fit, so every failure without a refusal is in doubt. Any other refusal
// means what it says.
func doubt(err error, before, again bool) bool {
	var status wire.Status
	switch {
	case errors.As(err, &status):
		return again && (status == wire.BadCode || status == wire.BadSession || status == wire.Inactive)
	case errors.Is(err, wire.ErrWrongCode):
		return again
	}
	return before
}

// number is a session number that nobody can guess.
func number() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return max(1, binary.LittleEndian.Uint32(b[:]))
}

// Read sends a request that changes nothing, and sends it again if no answer comes.
func (s *Session) Read(ctx context.Context, netFn, command byte, data ...byte) (code byte, answer []byte, err error) {
	return s.do(ctx, brisk, netFn, command, data)
}

// Send sends a request once. Without an answer it is unknown whether it took effect.
func (s *Session) Send(ctx context.Context, netFn, command byte, data ...byte) (code byte, answer []byte, err error) {
	return s.do(ctx, once, netFn, command, data)
}

func (s *Session) do(ctx context.Context, p pace, netFn, command byte, data []byte) (code byte, answer []byte, err error) {
	if s.requests++; s.requests > 63 {
		return 0, nil, errors.New("too many requests for one session")
	}
	m := wire.Message{NetFn: netFn, Command: command, Sequence: s.requests, Data: data}
	err = exchange(ctx, s.conn, p, func() []byte { return s.seal(m.Request()) }, func(b []byte) (err error) {
		code, answer, err = s.take(b, m)
		return err
	})
	return code, answer, err
}

// seal gives each packet a new number, also one that is sent again.
func (s *Session) seal(payload []byte) []byte {
	s.sent++
	var iv [16]byte
	_, _ = rand.Read(iv[:]) // it never fails
	return s.keys.Seal(wire.Packet{Type: wire.Sealed, Session: s.bmc, Sequence: s.sent, Payload: payload}, iv)
}

// take decodes a datagram to an answer.
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

// Close ends the session. A BMC has few sessions, and ends an abandoned one only after a
// while.
func (s *Session) Close(ctx context.Context) {
	var id [4]byte
	binary.LittleEndian.PutUint32(id[:], s.bmc)
	_, _, _ = s.Send(ctx, wire.App, closeSession, id[:]...) // as above
	_ = s.conn.Close()
}
