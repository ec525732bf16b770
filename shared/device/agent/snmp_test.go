//go:build linux

package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent/agenttest"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/test/rig/port"
)

// pdu is net-snmp's own server with the outlets of an APC rack PDU, which are files of a script
// of ours.
type pdu struct {
	t    testing.TB
	dir  string
	port int
}

func newPDU(t testing.TB) *pdu {
	t.Helper()
	agenttest.NeedPDU(t)
	p := &pdu{t: t, port: port.UDP(t)}
	p.dir = agenttest.PDU(t, p.port)
	return p
}

func (p *pdu) open(plug, community string) device.Driver {
	return open(p.t, "fence_apc_snmp", map[string]string{
		"ip": "127.0.0.1", "ipport": strconv.Itoa(p.port), "plug": plug, "community": community, "snmp_version": "2c",
		"shell_timeout": "2", "login_timeout": "1",
	})
}

func (p *pdu) told() string {
	text, err := os.ReadFile(filepath.Join(p.dir, "told"))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

func TestPDU(t *testing.T) {
	p := newPDU(t)
	says(t, p.open("2", "hunter-2"), device.Off)
	d := p.open("1", "hunter-2")
	says(t, d, device.On)
	if err := d.Off(t.Context()); err != nil {
		t.Error(err)
	}
	says(t, d, device.Off)
	if err := d.On(t.Context()); err != nil {
		t.Error(err)
	}
	says(t, d, device.On)
	if d := cmp.Diff("1=2\n1=1\n", p.told()); d != "" {
		t.Error("the PDU was told", d)
	}
}

// TestPDUWithoutTheOutlet: the agent itself reports such an outlet as off (S2).
func TestPDUWithoutTheOutlet(t *testing.T) {
	p := newPDU(t)
	says(t, p.open("1", "hunter-2"), device.On)
	const off = "device does not know this machine: fence_apc_snmp, list of 127.0.0.1#"
	for plug, want := range map[string]string{
		"9":        off + "9: it says off, and its list does not show plug 9",
		"outlet-2": off + "outlet-2: it says off, and the list has this as the name of 2; write plug=2",
	} {
		if r, err := p.open(plug, "hunter-2").State(t.Context()); r != (device.Reading{}) || devicetest.Words(err) != want {
			t.Errorf("plug %s: %+v, %v", plug, r, err)
		}
	}
	if err := p.open("9", "hunter-2").Off(t.Context()); err != nil {
		t.Error("the agent's own word has changed: ", err)
	}
	r, err := p.open("1", "hunter-3").State(t.Context())
	if r != (device.Reading{}) || !errors.Is(err, device.ErrUnreachable) || strings.Contains(err.Error(), "hunter") {
		t.Errorf("wrong community: %+v, %v", r, err)
	}
	if got := p.told(); got != "" {
		t.Errorf("the PDU was told %q", got)
	}
}
