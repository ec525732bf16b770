package real

import (
	"testing"
	"time"

	"github.com/nodefence/nodefence/test/lab/machine/bmc"
)

// told is a machine that keeps what it was ordered.
type told struct {
	on     bool
	orders string
}

func (m *told) Power() bool { return m.on }
func (m *told) PowerOff()   { m.on, m.orders = false, m.orders+"off " }
func (m *told) PowerOn()    { m.on, m.orders = true, m.orders+"on " }
func (m *told) Reset()      { m.orders += "reset " }
func (m *told) ShutDown()   { m.orders += "soft " }

func TestWhatTheProgramOfABMCCalls(t *testing.T) {
	for name, tc := range map[string]struct {
		args         []string
		off          bool
		says, orders string
		refused      bool
	}{
		"a read of a machine that is on":  {args: []string{"get", "power"}, says: "power:1\n"},
		"a read of a machine that is off": {args: []string{"get", "power"}, off: true, says: "power:0\n"},
		"off":                             {args: []string{"set", "power", "0"}, orders: "off "},
		"on":                              {args: []string{"set", "power", "1"}, off: true, orders: "on "},
		"reset":                           {args: []string{"set", "reset", "1"}, orders: "reset "},
		"soft":                            {args: []string{"set", "shutdown", "1"}, orders: "soft "},
		"what a machine has not":          {args: []string{"get", "boot"}, refused: true},
		"another value":                   {args: []string{"set", "power", "2"}, refused: true},
		"nothing":                         {refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &told{on: !tc.off}
			c := &controller{Panel: bmc.NewPanel("node-0", "10.64.0.100:623", m, nil, time.Now)}
			says, err := c.answer(tc.args)
			if says != tc.says || m.orders != tc.orders || (err != nil) != tc.refused {
				t.Errorf("says %q, want %q; ordered %q, want %q; error: %v", says, tc.says, m.orders, tc.orders, err)
			}
		})
	}
}
