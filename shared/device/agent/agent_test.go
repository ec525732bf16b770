//go:build linux

package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

const (
	password = `hunter-2 "&'\hunter`
	changed  = "hunter-3-hunter"
)

// script is a fence agent that misbehaves as it is told. Its machine is some files
// beside it. It says what secret it was given, as some do.
const script = `#!/bin/sh
cd "${0%/*}" || exit 1
if [ "$*" = "-o metadata" ]; then
	echo x >>asked
	cat metadata
	exit
fi
[ $# = 0 ] || echo "argument $*" >>told
env | grep -v -e ^HOME= -e ^LANG= -e ^PATH= -e ^PWD= -e ^PYTHONDONTWRITEBYTECODE= -e ^_= -e ^OLDPWD= -e ^SHLVL= >>told
action=reboot
while IFS== read -r name value; do
	case $name in
	action | password | plug) eval "$name=\$value" ;;
	esac
done
read -r power <power
read -r says <says
read -r fault <fault
read -r secret <password
case $fault in
hang)
	trap '' TERM INT HUP
	while true; do sleep 60; done
	;;
unreachable)
	echo "2025-01-01 00:00:00,000 ERROR: Connection refused" >&2
	exit 1
	;;
mute)
	echo "$password does not say" >&2
	exit 1
	;;
esac
if [ "$password" != "$secret" ]; then
	echo "Permission denied for fence:$password" >&2
	exit 1
fi
case $action in
status)
	[ "$says" = 0 ] && power=0
	[ "$power" = 1 ] && echo "Status: ON" && exit
	echo "Status: OFF"
	exit 2
	;;
list)
	cat outlets
	exit
	;;
on) goal=1 ;;
off) goal=0 ;;
esac
if [ "$fault" = refuse ] || [ "$fault $power" = "conflict-when-off $goal" ]; then
	echo "not now, $password" >&2
	exit 1
fi
echo "$action" >>told
case $fault in
accept-and-ignore | slow) ;;
early | lie) echo "$goal" >says ;;
*) echo "$goal" >power ;;
esac
[ "$fault" = reset-connection ] && exit 1
exit 0
`

const oursMetadata = `a warning of a library
<?xml version="1.0" ?>
<resource-agent name="fence_ours" shortdesc="Ours"><longdesc>Misbehaves.</longdesc>
<parameters>
<parameter name="action" required="1"><content type="string" default="reboot"/></parameter>
<parameter name="ip" required="1" obsoletes="ipaddr"><content type="string"/></parameter>
<parameter name="ipaddr" required="1" deprecated="1"><content type="string"/></parameter>
<parameter name="username" required="1" obsoletes="login"><content type="string"/></parameter>
<parameter name="password" required="0" obsoletes="passwd"><content type="string"/></parameter>
<parameter name="plug" required="1" obsoletes="port"><content type="string"/></parameter>
<parameter name="ssl" required="0"><content type="boolean"/></parameter>
<parameter name="lanplus" required="0"><content type="boolean" default="1"/></parameter>
<parameter name="level" required="0"><content type="select"><option value="user"/><option value="operator"/></content></parameter>
<parameter name="shell_timeout" required="0"><content type="second" default="3"/></parameter>
<parameter name="power_timeout" required="0"><content type="second" default="20"/></parameter>
<parameter name="retry_on" required="0"><content type="integer" default="1"/></parameter>
<parameter name="delay" required="0"><content type="second" default="0"/></parameter>
<parameter name="telnet-path" required="0"><content type="string" default="/usr/bin/telnet"/></parameter>
<parameter name="missing_as_off" required="0"><content type="boolean"/></parameter>
</parameters>
<actions><action name="on" automatic="0"/><action name="off"/><action name="reboot"/><action name="status"/><action name="list"/></actions>
</resource-agent>
`

// machine is one with our agent.
type machine struct {
	t   *testing.T
	dir string
	device.Driver
}

func newMachine(t *testing.T, fault string) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir()}
	for name, text := range map[string]string{
		"fence_ours": script, "metadata": oursMetadata, "power": "1\n", "says": "1\n", "told": "", "outlets": "6,six\n7,seven\n",
	} {
		m.write(name, text)
	}
	m.setFault(fault)
	k, err := Kind("fence-ours", m.dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Driver, err = k.Open(map[string]string{"ip": "pdu.example", "plug": "7", "login": "fence", "password": password})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

func (m *machine) setFault(fault string) {
	m.t.Helper()
	word := password
	if fault == devicetest.WrongPassword {
		word = changed
	}
	m.write("password", word+"\n")
	m.write("fault", fault+"\n")
	m.write("says", "1\n")
}

// settle does what a slow or early off still has to do.
func (m *machine) settle() { m.write("power", "0\n"); m.write("says", "1\n") }

func (m *machine) on() bool { return m.read("power") == "1\n" }

func (m *machine) told() []string {
	return slices.Collect(strings.FieldsSeq(m.read("told")))
}

func TestConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Harness{
		Against: "agent",
		Secrets: []string{password, changed, "hunter"},
		New: func(t *testing.T, fault string) devicetest.Machine {
			m := newMachine(t, fault)
			return devicetest.Machine{Driver: m, On: m.on, Commands: m.told, SetFault: m.setFault, Settle: m.settle}
		},
	})
}
