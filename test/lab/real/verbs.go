package real

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// errState refuses a verb in the machine's present state.
var errState = errors.New("not in this state")

// verbs are what may happen to a machine. Each is called under its lock.
var verbs = map[string]func(*machine) error{
	"crash":      (*machine).crash,
	"power-loss": (*machine).switchOff,
	"power-on":   (*machine).switchOn,
	"partition":  func(m *machine) error { return m.setCut(true) },
	"heal":       func(m *machine) error { return m.setCut(false) },
}

func (m *machine) do(verb string) error {
	act, known := verbs[verb]
	if !known {
		return fmt.Errorf("a real machine has no verb %q: use one of %s", verb, strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := act(m); err != nil {
		return fmt.Errorf("%s %s: %w", verb, m.boot.Node, err)
	}
	return nil
}

// crash stops all processes where they are; the power stays on.
func (m *machine) crash() error {
	if !m.power || m.crashed {
		return fmt.Errorf("%w: it is %s", errState, m.state())
	}
	if err := m.group.freeze(m.ctx); err != nil {
		return err
	}
	m.crashed = true
	return nil
}

// setCut pulls or plugs the network cable, also of a machine without power.
func (m *machine) setCut(cut bool) error {
	m.cut = cut
	if !m.power {
		return nil
	}
	return setCable(m.ctx, m.layout, m.boot.Node, !cut)
}
