package ipmi

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/nodefence/nodefence/shared/device"
)

// bmc is one machine's.
type bmc struct {
	host           string
	port           int
	user, password string
	cipher         types.CipherSuiteID
	privilege      types.PrivilegeLevel
}

const (
	// packet is how long one answer may take before the request is sent again.
	packet = time.Second
	// resend is how often what changes nothing is sent again on a lossy network.
	resend = 2
	// goodbye bounds the end of the conversation, within the caller's time.
	goodbye = 300 * time.Millisecond
)

// State reads the power, and the machine's GUID where the BMC has one.
func (b *bmc) State(ctx context.Context) (device.Reading, error) {
	var r device.Reading
	err := b.talk(ctx, func(ctx context.Context, c *client.Client) error {
		power, err := readPower(ctx, c)
		if err != nil {
			return err
		}
		id, err := readGUID(ctx, c)
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
func (b *bmc) Off(ctx context.Context) error {
	return b.control(ctx, chassis.ChassisControlPowerDown, device.Off)
}

// On switches it on.
func (b *bmc) On(ctx context.Context) error {
	return b.control(ctx, chassis.ChassisControlPowerUp, device.On)
}

// control sends one command, once. A BMC that refuses because the machine is
// there already is asked, not believed.
func (b *bmc) control(ctx context.Context, word chassis.ChassisControl, goal device.Power) error {
	return b.talk(ctx, func(ctx context.Context, c *client.Client) error {
		c.WithRetry(0)
		_, err := c.ChassisControl(ctx, word)
		c.WithRetry(resend)
		if err = explain("send chassis control", err); errors.Is(err, device.ErrConflict) {
			if power, rerr := readPower(ctx, c); rerr == nil && power == goal {
				return nil
			}
		}
		return err
	})
}

// talk opens a session, does one thing in it, and leaves nothing behind: no
// socket, no goroutine (S10).
func (b *bmc) talk(ctx context.Context, do func(context.Context, *client.Client) error) error {
	short, cancel := device.Shorter(ctx, goodbye)
	defer cancel()
	// The library puts host and port together with nothing but a colon.
	host := b.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	c, err := client.NewClient(host, b.port, b.user, b.password)
	if err != nil {
		return fmt.Errorf("%w: open session with %s: %w", device.ErrDenied, b.address(), err)
	}
	c.WithInterface(client.InterfaceLanplus).WithTimeout(packet).WithRetry(resend).
		WithCipherSuiteID(b.cipher).WithMaxPrivilegeLevel(b.privilege)
	err = c.Connect(short)
	defer hangUp(ctx, c)
	if err != nil {
		return b.noSession(short, err)
	}
	return do(short, c)
}

// hangUp takes no longer than the caller has, but does not end with a cancelled
// call: the BMC has few sessions.
func hangUp(ctx context.Context, c *client.Client) {
	c.WithRetry(0)
	ctx, cancel := device.Goodbye(ctx, goodbye)
	defer cancel()
	_ = c.Close(ctx) // the BMC ends an abandoned session by itself
}

// noSession tells a BMC that does not answer from one that does not let us in.
// The library keeps the cause of a lost packet in the chain and prints the
// others: an error that wraps nothing came from the exchange of credentials.
func (b *bmc) noSession(ctx context.Context, err error) error {
	kind := device.ErrUnreachable
	var code *types.ResponseError
	if ctx.Err() == nil && (errors.Unwrap(err) == nil || errors.As(err, &code)) {
		kind = device.ErrDenied
	}
	return fmt.Errorf("%w: open session with %s: %s", kind, b.address(), plain(err))
}

func readPower(ctx context.Context, c *client.Client) (device.Power, error) {
	s, err := c.GetChassisStatus(ctx)
	if err != nil {
		return device.Unknown, explain("get chassis status", err)
	}
	if s.PowerIsOn {
		return device.On, nil
	}
	return device.Off, nil
}

// readGUID gives the GUID as the BMC sends it; device.SameIdentity knows the
// orders in which it may be. Many BMCs have none.
func readGUID(ctx context.Context, c *client.Client) (string, error) {
	g, err := c.GetSystemGUID(ctx)
	var code *types.ResponseError
	if errors.As(err, &code) {
		return "", nil
	}
	if err != nil {
		return "", explain("get system GUID", err)
	}
	if g.GUID == [16]byte{} {
		return "", nil
	}
	s := hex.EncodeToString(g.GUID[:])
	return s[0:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:], nil
}

// explain sorts an answer into the words that every driver uses.
func explain(what string, err error) error {
	if err == nil {
		return nil
	}
	kind := device.ErrUnreachable
	var code *types.ResponseError
	if errors.As(err, &code) {
		switch code.CompletionCode() {
		case types.CodeInsufficientPrivilege:
			kind = device.ErrDenied
		case types.CodeInvalidCommand, types.CodeIllegalCommand, types.CodeSubFnDisabled:
			kind = device.ErrUnsupported
		default:
			kind = device.ErrConflict
		}
	}
	return fmt.Errorf("%w: %s: %s", kind, what, plain(err))
}

// plain is an error in one line. The library never prints the password.
func plain(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
