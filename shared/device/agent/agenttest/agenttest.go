package agenttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// The agent's name, and the passwords of its device: the one that it is opened
// with, and one that was changed since.
const (
	Name     = "fence_ours"
	Password = `hunter-2 "&'\hunter`
	Changed  = "hunter-3-hunter"
)

// Script is a fence agent that misbehaves as it is told. Its machine is some files
// beside it. It says what secret it was given, as some do.
const Script = `#!/bin/sh
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

// Metadata is what it declares.
const Metadata = `a warning of a library
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

// Params open a driver of the agent.
func Params() map[string]string {
	return map[string]string{"ip": "pdu.example", "plug": "7", "login": "fence", "password": Password}
}

// Machine is one with this agent.
type Machine struct {
	t testing.TB
	// Dir has the agent and its machine.
	Dir string
}

// New makes a machine that is on, with a fault of devicetest.
func New(t testing.TB, fault string) *Machine {
	t.Helper()
	m := &Machine{t: t, Dir: folder(t)}
	for name, text := range map[string]string{
		Name: Script, "metadata": Metadata, "power": "1\n", "says": "1\n", "told": "", "outlets": "6,six\n7,seven\n",
	} {
		m.Write(name, text)
	}
	m.SetFault(fault)
	return m
}

// folder is one that is gone after the test. An agent that was ended may be at its last
// write still, which t.TempDir does not wait for.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tick, late := time.NewTicker(10*time.Millisecond), time.After(30*time.Second)
		defer tick.Stop()
		for {
			err := os.RemoveAll(dir)
			if err == nil {
				return
			}
			select {
			case <-tick.C:
			case <-late:
				t.Errorf("remove the agent's folder: %v", err)
				return
			}
		}
	})
	return dir
}

// Write sets one of its files.
func (m *Machine) Write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.Dir, name), []byte(text), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

// Read gives one.
func (m *Machine) Read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.Dir, name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

// SetFault makes it misbehave from now on.
func (m *Machine) SetFault(fault string) {
	m.t.Helper()
	word := Password
	if fault == devicetest.WrongPassword {
		word = Changed
	}
	m.Write("password", word+"\n")
	m.Write("fault", fault+"\n")
	m.Write("says", "1\n")
}

// Settle does what a slow or early off still has to do.
func (m *Machine) Settle() { m.Write("power", "0\n"); m.Write("says", "1\n") }

// On is the truth about its power.
func (m *Machine) On() bool { return m.Read("power") == "1\n" }

// Told are the commands that it accepted, and what nobody may tell an agent: an
// argument, or a variable that is not of its environment.
func (m *Machine) Told() []string { return slices.Collect(strings.FieldsSeq(m.Read("told"))) }
