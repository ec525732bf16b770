package bmc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
)

// The ways in which a BMC misbehaves.
const (
	None = "none"
	// Hang answers nothing.
	Hang = "hang"
	// Refuse answers each command (no reads) with a completion code.
	Refuse = "refuse"
	// Slow accepts a command and carries it out later; reads tell the true state.
	Slow = "slow"
	// Ignore accepts a command and does nothing.
	Ignore = "accept-and-ignore"
	// Conflict refuses to switch off what is off.
	Conflict = "conflict-when-off"
	// Early says that a command is done and carries it out later.
	Early = "early"
	// Lie says that a command is done and never does it.
	Lie = "lie"
	// WrongPassword has another password than the one that clients were given.
	WrongPassword = "wrong-password"
	// Reset carries out each second command, from the first on, but drops the
	// session instead of answering.
	Reset = "reset-connection"
)

// fault is one of them with what it needs.
type fault struct {
	kind  string
	delay time.Duration
	code  types.CompletionCode
}

// faults lists all of them with their defaults.
var faults = map[string]fault{
	None:          {kind: None},
	Hang:          {kind: Hang},
	Refuse:        {kind: Refuse, code: types.CodeNotSupported},
	Slow:          {kind: Slow, delay: 6 * time.Second},
	Ignore:        {kind: Ignore},
	Conflict:      {kind: Conflict},
	Early:         {kind: Early, delay: 3 * time.Second},
	Lie:           {kind: Lie},
	WrongPassword: {kind: WrongPassword},
	Reset:         {kind: Reset},
}

// parseFault reads NAME or NAME=VALUE: a delay (slow=6s, early=3s), or a
// completion code (refuse=0xd4).
func parseFault(text string) (fault, error) {
	name, value, hasValue := strings.Cut(text, "=")
	f, known := faults[name]
	if !known {
		return fault{}, fmt.Errorf("unknown fault %q: use one of %s", name, strings.Join(slices.Sorted(maps.Keys(faults)), ", "))
	}
	if !hasValue {
		return f, nil
	}
	switch {
	case f.delay > 0:
		delay, err := time.ParseDuration(value)
		if err != nil || delay <= 0 {
			return fault{}, fmt.Errorf("bad fault %q: %q is not a delay", text, value)
		}
		f.delay = delay
	case f.code > 0:
		code, err := strconv.ParseUint(value, 0, 8)
		if err != nil || code == 0 {
			return fault{}, fmt.Errorf("bad fault %q: %q is not a completion code such as 0xd4", text, value)
		}
		f.code = types.CompletionCode(code)
	default:
		return fault{}, fmt.Errorf("bad fault %q: %q takes no value", text, name)
	}
	return f, nil
}

func (f fault) String() string {
	switch {
	case f.delay > 0:
		return f.kind + "=" + f.delay.String()
	case f.code > 0:
		return fmt.Sprintf("%s=0x%02x", f.kind, uint8(f.code))
	}
	return f.kind
}
