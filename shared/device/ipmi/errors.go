package ipmi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/ipmi/rmcp"
	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// Completion codes.
const (
	invalidCommand  = 0xc1
	invalidLUN      = 0xc2
	lowPrivilege    = 0xd4
	disabledCommand = 0xd6

	// Set Session Privilege Level has two codes of its own.
	levelNotAvailable = 0x80
	levelTooHigh      = 0x81
)

// unsupported are the codes of a BMC that does not have a command.
var unsupported = map[byte]bool{invalidCommand: true, invalidLUN: true, disabledCommand: true}

var codes = map[byte]string{
	invalidCommand: "the BMC does not have this command", invalidLUN: "the BMC does not have this command here",
	disabledCommand: "the command is disabled", 0xc0: "the BMC is busy", 0xc3: "the BMC timed out", 0xc7: "wrong length of the request",
	0xcc: "the BMC takes no such value", 0xce: "the BMC can't answer", 0xd1: "the BMC is being updated", 0xd2: "the BMC is starting",
	0xd5: "not in its present state", 0xff: "unspecified error",
}

// explain sorts the end of a request into the errors that every driver uses.
func (b *bmc) explain(what string, code byte, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s of %s: %w", kindOf(err), what, b.address(), err)
	case code == 0:
		return nil
	case code == lowPrivilege:
		return fmt.Errorf("%w: %s of %s: %s", device.ErrDenied, what, b.address(), b.rights())
	case unsupported[code]:
		err = device.ErrUnsupported
	default:
		err = device.ErrConflict
	}
	word, ok := codes[code]
	if !ok {
		word = "refused"
	}
	return fmt.Errorf("%w: %s of %s: %s (completion code %#02x)", err, what, b.address(), word, code)
}

// kindOf tells a missing answer from an invalid one.
func kindOf(err error) error {
	if errors.Is(err, wire.ErrNotAuthentic) || errors.Is(err, wire.ErrMalformed) {
		return device.ErrInvalid
	}
	return device.ErrUnreachable
}

// rights are all rights that the user needs, named together.
func (b *bmc) rights() string {
	return fmt.Sprintf("the user's privilege level is too low: nodefence opens sessions as %s (parameter privilege); "+
		"reading the power and the System GUID needs user, switching the power (Chassis Control) operator; "+
		"give the user operator on the BMC's LAN channel, with IPMI over LAN enabled", b.privilege.name)
}

// noPrivilege is a session that does not get its privilege level.
func (b *bmc) noPrivilege(code byte, err error) error {
	if err == nil && (code == levelNotAvailable || code == levelTooHigh) {
		code = lowPrivilege
	}
	return b.explain("set the privilege level", code, err)
}

// noSession tells a BMC that does not answer from a BMC that refuses the login, and both
// from answers that are not the BMC's. A refusal is not authenticated; a false one costs no
// more than this one try.
func (b *bmc) noSession(err error) error {
	kind, word := kindOf(err), ""
	var status wire.Status
	switch {
	case errors.Is(err, wire.ErrWrongCode):
		kind, word = device.ErrDenied, "wrong password, or the BMC has a key of its own (Kg), which is to be empty"
	case errors.As(err, &status):
		word, kind = b.refused(status)
	case errors.Is(err, rmcp.ErrSilent) && strings.HasPrefix(err.Error(), "RAKP 1"):
		word = "it has answered Open Session, and not the login; some BMCs do so where they do not know the user"
	}
	if word != "" {
		return fmt.Errorf("%w: log in to %s: %s", kind, b.address(), word)
	}
	return fmt.Errorf("%w: log in to %s: %w", kind, b.address(), err)
}

func (b *bmc) refused(s wire.Status) (word string, kind error) {
	switch s {
	case wire.BadName:
		return "unknown user, or one that may not use IPMI over LAN", device.ErrDenied
	case wire.BadCode:
		return "wrong password", device.ErrDenied
	case wire.RoleTooHigh, wire.BadRole:
		return b.rights(), device.ErrDenied
	case wire.Full, wire.FullAtRole:
		return s.Error(), device.ErrConflict
	case 0x04, 0x05, 0x06, 0x07, 0x10, wire.NoSuite:
		return fmt.Sprintf("%s: set cipher to %d, or allow cipher suite %d on the BMC", s.Error(), b.otherSuite(), b.suite.Number), device.ErrUnsupported
	}
	return s.Error(), device.ErrConflict
}

func (b *bmc) otherSuite() int {
	if b.suite.Number == wire.Suite3.Number {
		return wire.Suite17.Number
	}
	return wire.Suite3.Number
}
