package ipmi_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/nodefence/nodefence/shared/device/devicetest"
)

const (
	user     = "fence"
	password = "hunter-2-hunter"
	changed  = "hunter-3-hunter"
)

// guid is as printed, and as the server sends it.
const guid = "00112233-4455-6677-8899-aabbccddeeff"

var anotherGUID = [16]byte{0x0f, 0x1e, 0x2d}

var rawGUID = [16]byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}

// served is a machine whose BMC go-ipmi serves in this process.
type served struct {
	net.PacketConn
	controller *bmc.BMC
	// ready is closed when the server has started all that it runs.
	ready     chan struct{}
	readyOnce sync.Once

	mu    sync.Mutex
	fault string
	// refusal is the code with which commands are refused.
	refusal  types.CompletionCode
	isOff    bool
	pretends bool
	cut      bool
	commands []string
}

// serve ends with t.
func serve(t testing.TB, fault string) *served {
	t.Helper()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, udp, fault)
}

func serveOn(t testing.TB, udp net.PacketConn, fault string) *served {
	t.Helper()
	s := &served{PacketConn: udp, ready: make(chan struct{})}
	s.controller = bmc.New(bmc.DeviceInfo{DeviceID: 1, IPMIVersion: 0x20}, rawGUID, &power{HAL: mock.New(), s: s})
	s.setFault(t, fault)
	ctx, cancel := context.WithCancel(context.Background())
	srv, done := server.NewServer(s.controller, s, server.WithHandlerRegistry(s.withGUID())), make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		_ = srv.Close()
		<-done
	})
	<-s.ready
	return s
}

func (s *served) port() int { return s.LocalAddr().(*net.UDPAddr).Port }

// withGUID has the one command that the driver uses and the server lacks.
func (s *served) withGUID() *handlers.Registry {
	r := handlers.NewRegistry()
	handlers.RegisterAllHandlers(r)
	r.RegisterFunc(types.CommandGetSystemGUID, func(context.Context, *handlers.HandlerContext, []byte) ([]byte, types.CompletionCode, error) {
		if s.is(devicetest.Other) {
			return anotherGUID[:], types.CodeOK, nil
		}
		return rawGUID[:], types.CodeOK, nil
	})
	return r
}

func (s *served) setFault(t testing.TB, fault string) {
	t.Helper()
	word := password
	if fault == devicetest.WrongPassword {
		word = changed
	}
	err := s.controller.Users.Upsert(2, func(u *bmc.User) error {
		u.Name, u.Enabled, u.Password = user, true, [bmc.MaxPasswordLen]byte{}
		copy(u.Password[:], word)
		u.ChannelAccess[1] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelOperator, Enabled: true}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.cut, s.pretends = fault, false, false
}

func (s *served) is(fault string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault == fault
}

// settle does what a slow or early off still has to do.
func (s *served) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isOff, s.pretends = true, false
}

// ReadFrom tells that the server is up: a goroutine of its own that started
// later would count as one that the driver left.
func (s *served) ReadFrom(data []byte) (int, net.Addr, error) {
	s.readyOnce.Do(func() { close(s.ready) })
	return s.PacketConn.ReadFrom(data)
}

func (s *served) on() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.isOff
}

func (s *served) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

// WriteTo keeps the answers back of a BMC that hangs or has been cut off.
func (s *served) WriteTo(data []byte, to net.Addr) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut || s.fault == devicetest.Hang {
		return len(data), nil
	}
	return s.PacketConn.WriteTo(data, to)
}

// control is one Chassis Control.
func (s *served) control(word string, on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusal != types.CodeOK {
		return s.refusal
	}
	if s.fault == devicetest.Refuse || s.fault == devicetest.Mute || (s.fault == devicetest.ConflictWhenOff && on == !s.isOff) {
		return types.CodeNotSupported
	}
	s.commands = append(s.commands, word)
	s.cut = s.fault == devicetest.ResetConnection
	switch s.fault {
	case devicetest.AcceptAndIgnore, devicetest.Slow:
	case devicetest.Early, devicetest.Lie:
		s.pretends = !on
	default:
		s.isOff = !on
	}
	return nil
}

// says is what a state read is told.
func (s *served) says() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == devicetest.Mute {
		return false, types.CodeNotSupported
	}
	return !s.isOff && !s.pretends, nil
}

// power is the hardware behind the controller.
type power struct {
	*mock.HAL
	s *served
}

func (p *power) Chassis() hal.ChassisHAL { return chassisHAL{&mock.Chassis{}, p.s} }

type chassisHAL struct {
	*mock.Chassis
	s *served
}

func (c chassisHAL) PowerState(context.Context) (bool, error) { return c.s.says() }
func (c chassisHAL) PowerCycle(context.Context) error         { return c.s.control("cycle", true) }
func (c chassisHAL) ColdReset(context.Context) error          { return c.s.control("reset", true) }
func (c chassisHAL) WarmReset(context.Context) error          { return c.s.control("soft", true) }

func (c chassisHAL) SetPower(_ context.Context, on bool) error {
	if on {
		return c.s.control("on", on)
	}
	return c.s.control("off", on)
}
