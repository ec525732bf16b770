package bmc

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/server"
)

// Machine is what the controller switches. Its methods return at once.
type Machine interface {
	On() bool
	PowerOff()
	PowerOn()
}

// Options are the choices of Start.
type Options struct {
	Machine            Machine
	Username, Password string
	// SystemUUID is sent as the system GUID byte for byte as it is printed (RFC 4122 order).
	SystemUUID string
	// Now is time.Now if nil.
	Now func() time.Time
}

// Command is one that the controller was given.
type Command struct {
	Time     time.Time `json:"time"`
	Command  string    `json:"command"`
	Accepted bool      `json:"accepted"`
}

// BMC is a running controller.
type BMC struct {
	o      Options
	conn   *conn
	server *server.Server
	state  *bmc.BMC
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	fault    fault
	log      []Command
	controls int
	// pretend is what status says while a fault makes it say something else.
	pretend *bool
	timers  []*time.Timer
}

// userID is the slot of the one user: 1 is the anonymous one.
const userID = 2

// Start serves on a free UDP port of the loopback.
func Start(o Options) (*BMC, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(o.SystemUUID, "-", ""))
	if err != nil || len(raw) != 16 {
		return nil, fmt.Errorf("system UUID %q is not one", o.SystemUUID)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	b := &BMC{o: o, conn: &conn{PacketConn: udp, muted: map[string]bool{}}, done: make(chan struct{})}
	info := bmc.DeviceInfo{DeviceID: 32, DeviceRevision: 1, FirmwareMajor: 1, IPMIVersion: 0x20, AdditionalDeviceSupport: 0x39}
	b.state = bmc.New(info, [16]byte(raw), &board{HAL: mock.New(), bmc: b})
	if err := b.user(o.Password); err != nil {
		_ = udp.Close()
		return nil, err
	}
	b.server = server.NewServer(b.state, b.conn)
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go func() { defer close(b.done); _ = b.server.Serve(ctx) }()
	return b, nil
}

// user sets the one user, with operator's rights and above, on the LAN channel.
func (b *BMC) user(password string) error {
	err := b.state.Users.Upsert(userID, func(u *bmc.User) error {
		u.Name, u.Enabled = b.o.Username, true
		u.Password = [bmc.MaxPasswordLen]byte{}
		copy(u.Password[:], password)
		u.ChannelAccess[1] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelAdministrator, Enabled: true}
		return nil
	})
	if err != nil {
		return fmt.Errorf("set user: %w", err)
	}
	return nil
}

// Addr is host:port.
func (b *BMC) Addr() string { return b.conn.LocalAddr().String() }

// Log is what it was told, in order.
func (b *BMC) Log() []Command {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Command(nil), b.log...)
}

// Close ends it and leaves nothing behind.
func (b *BMC) Close() error {
	b.mu.Lock()
	for _, t := range b.timers {
		t.Stop()
	}
	b.mu.Unlock()
	b.cancel()
	err := b.server.Close()
	<-b.done
	return err
}

func (b *BMC) note(command string, accepted bool) {
	b.log = append(b.log, Command{Time: b.o.Now().UTC(), Command: command, Accepted: accepted})
}

// board is the hardware that the IPMI server thinks it has: ours where it is
// about power, a stand-in elsewhere.
type board struct {
	*mock.HAL
	bmc *BMC
}

func (h *board) Chassis() hal.ChassisHAL { return &chassis{Chassis: &mock.Chassis{}, bmc: h.bmc} }

type chassis struct {
	*mock.Chassis
	bmc *BMC
}

func (c *chassis) PowerState(context.Context) (bool, error) { return c.bmc.status(), nil }
func (c *chassis) SetPower(_ context.Context, on bool) error {
	return c.bmc.power(on)
}
func (c *chassis) PowerCycle(context.Context) error { return c.bmc.restart("cycle") }
func (c *chassis) ColdReset(context.Context) error  { return c.bmc.restart("reset") }
func (c *chassis) WarmReset(context.Context) error  { return c.bmc.restart("soft") }

// conn can fall silent: towards everybody, or towards one caller whose session
// has broken off.
type conn struct {
	net.PacketConn
	mu       sync.Mutex
	silent   bool
	muteNext bool
	muted    map[string]bool
}

func (c *conn) ReadFrom(buf []byte) (int, net.Addr, error) {
	for {
		n, addr, err := c.PacketConn.ReadFrom(buf)
		if err != nil {
			return n, addr, err
		}
		c.mu.Lock()
		drop := c.silent || c.muted[addr.String()]
		c.mu.Unlock()
		if !drop {
			return n, addr, nil
		}
	}
}

func (c *conn) WriteTo(data []byte, addr net.Addr) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.muteNext {
		c.muteNext = false
		c.muted[addr.String()] = true
	}
	if c.silent || c.muted[addr.String()] {
		return len(data), nil
	}
	return c.PacketConn.WriteTo(data, addr)
}

func (c *conn) set(silent bool) {
	c.mu.Lock()
	c.silent, c.muteNext = silent, false
	clear(c.muted)
	c.mu.Unlock()
}

func (c *conn) breakOff() {
	c.mu.Lock()
	c.muteNext = true
	c.mu.Unlock()
}
