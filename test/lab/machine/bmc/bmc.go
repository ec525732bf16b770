package bmc

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	ipmi "github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/google/uuid"
)

// Config is what a BMC is made of.
type Config struct {
	Machine Machine
	UUID    uuid.UUID
	// Username and Password are at most 16 bytes, which all clients can send.
	Username string
	Password string
	// Name is what Journal calls the BMC. Journal gets each command and fault, a JSON text a line; nil: nobody does.
	Name    string
	Journal io.Writer
}

const (
	userSlot   = 2
	lanChannel = 1
)

// BMC serves one machine on one UDP port of its own.
type BMC struct {
	config  Config
	socket  *socket
	chassis *chassis
	log     *log
	state   *ipmi.BMC
	server  *server.Server
	// controlled counts the commands since the fault Reset was set.
	controlled atomic.Uint32
	// silent by the fault Hang; dark without a supply.
	silent, dark atomic.Bool
}

// Listen opens the port. It answers only once Serve is called.
func Listen(config Config) (*BMC, error) {
	socket, err := openSocket()
	if err != nil {
		return nil, err
	}
	b := &BMC{
		config:  config,
		socket:  socket,
		chassis: &chassis{machine: config.Machine, fault: faults[None]},
		log:     &log{name: config.Name, address: socket.LocalAddr().String(), journal: config.Journal},
	}
	b.state = ipmi.New(device(), Wire(config.UUID), hardware{b.chassis}, ipmi.WithV15Disabled())
	if err := b.addUser(); err != nil {
		socket.Close()
		return nil, err
	}
	b.server = server.NewServer(b.state, socket, server.WithHandlerRegistry(b.commands()))
	return b, nil
}

// Serve answers until ctx ends.
func (b *BMC) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		b.chassis.close()
		b.server.Close()
	})
	defer stop()
	if err := b.server.Serve(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve BMC: %w", err)
	}
	return nil
}

// Addr is host:port.
func (b *BMC) Addr() string { return b.socket.LocalAddr().String() }

// Fault is the present misbehaviour.
func (b *BMC) Fault() string { return b.chassis.current().String() }

// Log returns the commands in the order in which they were answered.
func (b *BMC) Log() []Command { return b.log.all() }

// SetFault makes the BMC misbehave from now on, or with "none" stop misbehaving.
func (b *BMC) SetFault(text string) error {
	f, err := parseFault(text)
	if err != nil {
		return err
	}
	password := b.config.Password
	if f.kind == WrongPassword {
		password = "not-" + password[:min(len(password), 12)]
	}
	if err := b.state.Users.Update(userSlot, func(u *ipmi.User) error {
		u.SetPassword([]byte(password))
		return nil
	}); err != nil {
		return fmt.Errorf("set BMC's password: %w", err)
	}
	b.controlled.Store(0)
	b.silent.Store(f.kind == Hang)
	b.socket.setSilent(f.kind == Hang || b.dark.Load())
	b.chassis.set(f)
	b.log.addFault(f.kind, time.Now())
	return nil
}

// Dark removes the BMC's own power supply, or restores it.
func (b *BMC) Dark(dark bool) {
	b.dark.Store(dark)
	b.socket.setSilent(dark || b.silent.Load())
}

func (b *BMC) addUser() error {
	user, err := b.state.Users.Add(userSlot, b.config.Username)
	if err != nil {
		return fmt.Errorf("add BMC's user: %w", err)
	}
	user.SetPassword([]byte(b.config.Password))
	user.Enabled = true
	user.ChannelAccess[lanChannel] = ipmi.UserChannelAccess{MaxPrivilege: ipmi.PrivilegeLevelAdministrator, Enabled: true}
	return nil
}

// commands are those of the library, with a log, and one that it lacks.
func (b *BMC) commands() *handlers.Registry {
	commands := handlers.NewRegistry()
	commands.Use(b.dropSession)
	commands.Use(b.log.record)
	handlers.RegisterAllHandlers(commands)
	guid := Wire(b.config.UUID)
	commands.RegisterFunc(types.CommandGetSystemGUID, func(context.Context, *handlers.HandlerContext, []byte) ([]byte, types.CompletionCode, error) {
		return guid[:], types.CodeOK, nil
	})
	return commands
}

// dropSession is the fault Reset. The command has had its effect by then; the
// answer, which the library sends in any case, is lost on its way out.
func (b *BMC) dropSession(next handlers.Handler) handlers.Handler {
	return handlers.HandlerFunc(func(ctx context.Context, hctx *handlers.HandlerContext, request []byte) ([]byte, types.CompletionCode, error) {
		response, code, err := next.Handle(ctx, hctx, request)
		if hctx.Command != types.CommandChassisControl || hctx.Session == nil || b.chassis.current().kind != Reset {
			return response, code, err
		}
		if b.controlled.Add(1)%2 == 1 {
			b.socket.loseNext(hctx.Session.GetAddr())
			_ = b.state.Sessions.Close(hctx.Session.BMCID) // that it is already gone is just as good
		}
		return response, code, err
	})
}

func device() ipmi.DeviceInfo {
	return ipmi.DeviceInfo{DeviceID: 0x20, DeviceRevision: 1, FirmwareMajor: 1, IPMIVersion: 0x02, AdditionalDeviceSupport: 0x80}
}

// Wire returns a UUID in the order in which a BMC sends it, see the package's comment.
func Wire(u uuid.UUID) [16]byte {
	return [16]byte{u[3], u[2], u[1], u[0], u[5], u[4], u[7], u[6], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]}
}
