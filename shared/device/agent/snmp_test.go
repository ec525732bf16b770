//go:build linux

package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
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

const pduConf = `agentAddress udp:127.0.0.1:%d
rwcommunity hunter-2
sysObjectID .1.3.6.1.4.1.318.1.3.4.5
pass .1.3.6.1.4.1.318.1.1.12 /bin/sh %s
`

// outlets answers a get, the next of a walk, and a set. There are outlets 1 and
// 2, each with a name, a state and a control.
const outlets = `cd "${0%/*}" || exit 1
at=.1.3.6.1.4.1.318.1.1.12.3
show() {
	case $1 in
	$at.5.1.1.2.[12]) echo "$1"; echo string; echo "outlet-${1##*.}" ;;
	$at.5.1.1.4.[12] | $at.3.1.1.4.[12]) echo "$1"; echo integer; cat "${1##*.}" ;;
	esac
}
case $1 in
-g) show "$2" ;;
-n)
	case $2 in
	$at.5.1.1.2) show $at.5.1.1.2.1 ;;
	$at.5.1.1.2.1) show $at.5.1.1.2.2 ;;
	$at.5.1.1.2.2) show $at.5.1.1.4.1 ;;
	esac
	;;
-s)
	echo "${2##*.}=$4" >>told
	echo "$4" >"${2##*.}"
	;;
esac
`

func newPDU(t testing.TB) *pdu {
	t.Helper()
	needs(t, "fence-agents snmp snmpd", "snmpd", "snmpget", "fence_apc_snmp")
	p := &pdu{t: t, dir: t.TempDir(), port: port.UDP(t)}
	for name, text := range map[string]string{
		"outlets": outlets, "1": "1\n", "2": "2\n", "told": "",
		"conf": fmt.Sprintf(pduConf, p.port, filepath.Join(p.dir, "outlets")),
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SNMP_PERSISTENT_DIR", p.dir)
	begin(t, "snmpd", "-f", "-C", "-r", "-Ln", "-c", filepath.Join(p.dir, "conf"))
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
