package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// errState is for a verb that makes no sense in the machine's present state.
var errState = errors.New("not in this state")

// verbs are what may happen to a machine. Each is called under its lock.
var verbs = map[string]func(*hardware) error{
	"crash":        (*hardware).crash,
	"power-loss":   (*hardware).losePower,
	"power-on":     (*hardware).pressButton,
	"partition":    (*hardware).partition,
	"heal":         (*hardware).heal,
	"lease-stop":   (*hardware).stopLease,
	"lease-resume": (*hardware).resumeLease,
	"flap":         (*hardware).startFlap,
}

// errVerb is for a verb that doesn't exist.
var errVerb = errors.New("unknown verb")

func (h *hardware) do(verb string) error {
	act, known := verbs[verb]
	if !known {
		return fmt.Errorf("%w %q: use one of %s", errVerb, verb, strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endFlap()
	if err := act(h); err != nil {
		return fmt.Errorf("%s %s: %w", verb, h.name, err)
	}
	return nil
}

func (h *hardware) needKernel() error {
	if h.kernel == nil {
		return fmt.Errorf("%w: it is %s", errState, h.state())
	}
	return nil
}

func (h *hardware) crash() error {
	if err := h.needKernel(); err != nil {
		return err
	}
	h.die()
	h.crashed = true
	return nil
}

func (h *hardware) losePower() error {
	h.die()
	h.power, h.crashed = false, false
	return nil
}

func (h *hardware) pressButton() error {
	if !h.power {
		h.power = true
		h.bootSoon()
	}
	return nil
}

func (h *hardware) partition() error {
	h.setCut(true)
	return nil
}

func (h *hardware) heal() error {
	h.setCut(false)
	return nil
}

func (h *hardware) stopLease() error {
	if err := h.needKernel(); err != nil {
		return err
	}
	h.noLease = true
	return nil
}

func (h *hardware) resumeLease() error {
	h.noLease = false
	return nil
}

// setCut pulls the network cable or plugs it in; it also works for a machine that is off.
func (h *hardware) setCut(cut bool) {
	if h.cut == cut {
		return
	}
	h.cut = cut
	switch {
	case h.kernel == nil:
	case cut:
		h.kernel.unplug()
	default:
		h.kernel.plug()
		h.kernel.wake()
	}
}
