package ipmi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/ipmi/rmcp"
	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// bmc is one machine's BMC.
type bmc struct {
	host           string
	port           int
	user, password string
	suite          wire.Suite
	privilege      privilege
}

// goodbye is the time for the end of the conversation, within the caller's time.
const goodbye = 300 * time.Millisecond

// The commands, and the arguments of Chassis Control.
const (
	getChassisStatus = 0x01
	chassisControl   = 0x02
	getSystemGUID    = 0x37
	setPrivilege     = 0x3b

	powerDown = 0x00
	powerUp   = 0x01
)

// State reads the power, and the machine's GUID if the BMC has one.
func (b *bmc) State(ctx context.Context) (device.Reading, error) {
	var r device.Reading
	err := b.talk(ctx, func(ctx context.Context, s *rmcp.Session) error {
		power, err := b.readPower(ctx, s)
		if err != nil {
			return err
		}
		id, err := b.readGUID(ctx, s)
		if err != nil {
			return err
		}
		r = device.Reading{Power: power, Identity: id}
		return nil
	})
	if err != nil {
		return device.Reading{}, err
	}
	return r, nil
}

// Off cuts the power at once.
func (b *bmc) Off(ctx context.Context) error { return b.control(ctx, powerDown, device.Off) }

// On switches it on.
func (b *bmc) On(ctx context.Context) error { return b.control(ctx, powerUp, device.On) }

// control sends one command, once. A BMC may refuse because the machine is as wanted
// already. That is read, and not assumed.
func (b *bmc) control(ctx context.Context, word byte, goal device.Power) error {
	return b.talk(ctx, func(ctx context.Context, s *rmcp.Session) error {
		if err := device.InTime(ctx); err != nil {
			return fmt.Errorf("%w: %s: send Chassis Control: %w", device.ErrUnreachable, b.address(), err)
		}
		code, _, err := s.Send(ctx, wire.Chassis, chassisControl, word)
		err = b.explain("send Chassis Control", code, err)
		if errors.Is(err, device.ErrConflict) {
			if power, rerr := b.readPower(ctx, s); rerr == nil && power == goal {
				return nil
			}
		}
		return err
	})
}

// talk opens a session, does one thing in it, and leaves nothing behind: no socket, no
// goroutine (S10: nothing outlives its deadline).
func (b *bmc) talk(ctx context.Context, do func(context.Context, *rmcp.Session) error) error {
	short, cancel := device.Shorter(ctx, goodbye)
	defer cancel()
	s, err := rmcp.Dial(short, rmcp.Config{
		Address: b.address(), Suite: b.suite, User: b.user, Password: b.password, Privilege: b.privilege.level,
	})
	if err != nil {
		return b.noSession(err)
	}
	defer func() {
		// It does not end with a cancelled call: the BMC has few sessions.
		ctx, cancel := device.Goodbye(ctx, goodbye)
		defer cancel()
		s.Close(ctx)
	}()
	code, _, err := s.Read(short, wire.App, setPrivilege, b.privilege.level)
	if err != nil || code != 0 {
		return b.noPrivilege(code, err)
	}
	return do(short, s)
}

func (b *bmc) readPower(ctx context.Context, s *rmcp.Session) (device.Power, error) {
	const what = "read the power"
	code, answer, err := s.Read(ctx, wire.Chassis, getChassisStatus)
	if err = b.explain(what, code, err); err != nil {
		return device.Unknown, err
	}
	if len(answer) < 3 {
		return device.Unknown, b.broken(what, len(answer))
	}
	if answer[0]&1 == 1 {
		return device.On, nil
	}
	return device.Off, nil
}

// readGUID reads the machine's System GUID. Some BMCs do not have the command. Only an
// answer that says so means that there is no identity (S11: the device is the node's own).
func (b *bmc) readGUID(ctx context.Context, s *rmcp.Session) (string, error) {
	const what = "read the System GUID"
	code, answer, err := s.Read(ctx, wire.App, getSystemGUID)
	if err == nil && unsupported[code] {
		return "", nil
	}
	if err = b.explain(what, code, err); err != nil {
		return "", err
	}
	if len(answer) != 16 {
		return "", b.broken(what, len(answer))
	}
	return device.FirmwareUUID([16]byte(answer)), nil
}

func (b *bmc) broken(what string, n int) error {
	return fmt.Errorf("%w: %s of %s: %w: %d bytes of data", device.ErrInvalid, what, b.address(), wire.ErrMalformed, n)
}
