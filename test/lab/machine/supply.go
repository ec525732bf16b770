package machine

import (
	"fmt"
	"io"
	"sync"

	"github.com/nodefence/nodefence/test/lab/machine/bmc"
)

// outlets are those of a machine's two power supplies. One of them is enough for the machine.
var outlets = []string{"a", "b"}

// supply is what feeds one machine: two outlets, each switched over IPMI as a BMC is. Without
// both the machine is dark, and so is its BMC; when one is back the machine starts, as with
// firmware that is set to "always on".
type supply struct {
	machine *hardware
	// bmc goes silent in the dark.
	bmc func(dark bool)

	mu sync.Mutex
	on map[string]bool
}

// outlet is one of them, as its own controller sees it.
type outlet struct {
	*supply
	name string
}

// Power is whether the outlet is on.
func (o *outlet) Power() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.on[o.name]
}

// PowerOff switches the outlet off.
func (o *outlet) PowerOff() { o.set(false) }

// PowerOn switches it on.
func (o *outlet) PowerOn() { o.set(true) }

// Reset is off and on.
func (o *outlet) Reset() {
	o.set(false)
	o.set(true)
}

// ShutDown does nothing for an outlet.
func (o *outlet) ShutDown() {}

func (o *outlet) set(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.lit()
	o.on[o.name] = on
	switch is := o.lit(); {
	case was && !is:
		o.machine.PowerOff()
		o.bmc(true)
	case is && !was:
		o.bmc(false)
		o.machine.PowerOn()
	}
}

func (s *supply) lit() bool { return s.on["a"] || s.on["b"] }

// plugIn gives a machine its outlets.
func (n *node) plugIn(journal io.Writer) error {
	s := &supply{machine: n.hardware, bmc: n.bmc.Dark, on: map[string]bool{"a": true, "b": true}}
	n.outlets = map[string]*bmc.BMC{}
	for _, name := range outlets {
		b, err := bmc.Listen(bmc.Config{Machine: &outlet{s, name}, UUID: n.uuid, Username: n.username, Password: n.password, Name: n.name + "." + name, Journal: journal})
		if err != nil {
			return fmt.Errorf("plug in %s: %w", n.name, err)
		}
		n.outlets[name] = b
	}
	return nil
}
