package ipmitest

import (
	"net"
	"sync"
	"testing"

	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// Relay is a port at which a BMC can be reached.
type Relay struct {
	bmc            string
	user, password string
	front          *net.UDPConn

	mu   sync.Mutex
	play func(*conversation, []byte) [][]byte
	now  *conversation
}

// Serve relays to the BMC at this address until t ends.
func Serve(t testing.TB, bmc, user, password string) *Relay {
	t.Helper()
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{bmc: bmc, user: user, password: password, front: front, play: honest}
	var all sync.WaitGroup
	all.Go(func() { r.forward(&all) })
	t.Cleanup(func() {
		_ = front.Close()
		r.mu.Lock()
		r.end()
		r.mu.Unlock()
		all.Wait()
	})
	return r
}

// Port is the relay's port.
func (r *Relay) Port() int { return r.front.LocalAddr().(*net.UDPAddr).Port }

// end ends the conversation that is under way. The caller holds the lock.
func (r *Relay) end() {
	if r.now != nil {
		_ = r.now.back.Close()
	}
}

// forward passes on what the drivers send. Each of their sockets is a conversation of its
// own, and ends the one before.
func (r *Relay) forward(all *sync.WaitGroup) {
	b := make([]byte, wire.Most)
	for {
		n, from, err := r.front.ReadFromUDP(b)
		if err != nil {
			return
		}
		r.mu.Lock()
		if r.now == nil || r.now.driver.Port != from.Port {
			r.end()
			if c := r.begin(from); c != nil {
				all.Go(func() { r.backward(c) })
			}
		}
		if r.now != nil {
			r.now.hears(b[:n])
			_, _ = r.now.back.Write(b[:n])
		}
		r.mu.Unlock()
	}
}

func (r *Relay) begin(from *net.UDPAddr) *conversation {
	back, err := net.Dial("udp", r.bmc)
	if err != nil {
		r.now = nil
		return nil
	}
	r.now = &conversation{driver: from, back: back, login: wire.Login{User: r.user, Password: r.password}}
	return r.now
}

// backward passes on what the BMC sends, or forgeries of it.
func (r *Relay) backward(c *conversation) {
	b := make([]byte, wire.Most)
	for {
		n, err := c.back.Read(b)
		if err != nil {
			return
		}
		r.mu.Lock()
		answer := c.tells(b[:n])
		for _, said := range append(r.play(c, answer), nil) {
			if said != nil {
				_, _ = r.front.WriteToUDP(said, c.driver)
			}
		}
		r.mu.Unlock()
	}
}

// conversation is one login and its session, as both ends know it.
type conversation struct {
	driver *net.UDPAddr
	back   net.Conn
	login  wire.Login
	keys   wire.Keys
	// answer is the BMC's last answer in the session, from which sealed makes a packet.
	answer *wire.Message
	kind   wire.Type
	sent   uint32
}

// hears learns from what the driver sends.
func (c *conversation) hears(b []byte) {
	l := &c.login
	p, _, err := wire.Parse(b)
	switch {
	case err != nil:
	case p.Type == wire.OpenRequest:
		l.Tag, l.Console, l.Suite = p.Payload[0], le(p.Payload[4:]), wire.Suite3
		if p.Payload[12] == wire.Suite17.Authentication {
			l.Suite = wire.Suite17
		}
	case p.Type == wire.RAKP1:
		l.Tag, l.Privilege = p.Payload[0], p.Payload[24]&0x0f
		copy(l.Mine[:], p.Payload[8:])
	case p.Type == wire.RAKP3:
		l.Tag = p.Payload[0]
	}
}

// tells learns from what the BMC sends, and returns what the driver is to receive. In the
// session it uses the relay's own numbers, so that there is room between them.
func (c *conversation) tells(b []byte) []byte {
	c.answer = nil
	p, _, err := wire.Parse(b)
	if err != nil {
		return b
	}
	l := &c.login
	c.kind = p.Type
	switch {
	case p.Type == wire.OpenResponse && len(p.Payload) > 12:
		l.BMC = le(p.Payload[8:])
	case p.Type == wire.RAKP2 && len(p.Payload) > 40:
		copy(l.Theirs[:], p.Payload[8:])
		copy(l.GUID[:], p.Payload[24:])
		c.keys = l.Keys()
	case p.Type == wire.Sealed:
		p, err := c.keys.Unseal(b, l.Console)
		if err != nil {
			return b
		}
		m, err := wire.ParseMessage(p.Payload)
		if err != nil {
			return b
		}
		c.answer = &m
		return c.seal(m.Response())
	}
	return append([]byte{}, b...)
}

// seal makes a packet of the session that is valid in everything.
func (c *conversation) seal(payload []byte) []byte { return c.keys.Seal(c.packet(payload), iv) }

func (c *conversation) packet(payload []byte) wire.Packet {
	c.sent++
	return wire.Packet{Type: wire.Sealed, Session: c.login.Console, Sequence: c.sent, Payload: payload}
}

// iv need not be random, because nothing has to be hidden.
var iv = [16]byte{0x0f, 0x1e, 0x2d, 0x3c, 0x4b, 0x5a}

func le(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
