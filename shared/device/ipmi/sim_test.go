package ipmi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/test/rig/port"
)

// TestSimConformance is the same suite against a BMC whose authors had no part in the
// driver.
func TestSimConformance(t *testing.T) { devicetest.Run(t, simHarness(t)) }

func BenchmarkSimOffRead(b *testing.B) { devicetest.OffRead(b, "ipmi/sim", simHarness(b)) }

func simHarness(t testing.TB) devicetest.Harness {
	t.Helper()
	path, err := exec.LookPath("ipmi_sim")
	if err != nil {
		t.Skip("ipmi_sim is missing: apt-get install openipmi")
	}
	return devicetest.Harness{
		Against:  "ipmi/sim",
		Secrets:  []string{password, changed},
		Identity: guid,
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := startSim(t, path)
			s.port, s.play = behind(t, s.at, fault)
			s.setFault(fault)
			return devicetest.Machine{Driver: s, On: s.on, Commands: s.told, SetFault: s.setFault, Settle: s.settle}
		},
	}
}

// sim is a BMC in a process of its own, and the driver in use for it. Its machine is two
// files that a script of ours reads and writes for it.
type sim struct {
	device.Driver
	t   testing.TB
	dir string
	// at is where the BMC is, and port where the driver is told that it is.
	at, port int
	play     func(fault string)
	pid      int
}

// lan is for one address, one user, and the machine's script.
const lan = `name "seven"
startlan 1
addr 127.0.0.1 %d
priv_limit admin
guid %s
endlan
chassis_control "%s"
user 2 true "%s" "%s" admin 10
`

// emu has the controller itself and nothing on it.
const emu = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
mc_enable 0x20
`

// script answers "get power" and obeys "set power 0", or does as the fault says.
const script = `#!/bin/sh
cd "${0%/*}" || exit 1
read -r power <power
read -r fault <fault
[ "$fault" = mute ] && exit 1
if [ "$1 $2" = "get power" ]; then
	echo "power:$power"
	exit
fi
[ "$1" = set ] || exit 1
[ "$fault" = refuse ] && exit 1
[ "$fault $2 $3" = "conflict-when-off power $power" ] && exit 1
echo "$2 $3" >>told
case $fault in
accept-and-ignore | slow) ;;
*) echo "$3" >power ;;
esac
`

// newSim gives it a port that was free just now.
func newSim(t testing.TB) *sim {
	t.Helper()
	number := port.UDP(t)
	s := &sim{t: t, dir: t.TempDir(), at: number, port: number, play: func(string) {}}
	s.write("power", "1\n")
	s.write("fault", "none\n")
	s.write("told", "")
	return s
}

// start waits until it answers, and ends it with t.
func (s *sim) start(cmd *exec.Cmd) {
	s.t.Helper()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it says that it was killed
	})
	s.pid = cmd.Process.Pid
	s.Driver = dial(s.t, s.port, password, nil)
	s.await()
}

func startSim(t testing.TB, path string) *sim {
	t.Helper()
	s := newSim(t)
	s.write("chassis", script)
	s.write("lan.conf", fmt.Sprintf(lan, s.at, strings.ReplaceAll(guid, "-", ""), filepath.Join(s.dir, "chassis"), user, password))
	s.write("emu", emu)
	s.start(exec.Command(path, "-n", "-c", filepath.Join(s.dir, "lan.conf"), "-f", filepath.Join(s.dir, "emu"), "-s", s.dir))
	return s
}

// await is until it answers. A BMC in Python takes long to start on a machine that is busy.
func (s *sim) await() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil && s.refused() {
	}
	for {
		// A login whose messages all came too early waits for answers to the end of its time.
		try, stop := context.WithTimeout(ctx, 5*time.Second)
		_, err := s.State(try)
		stop()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			s.t.Fatal("the BMC does not answer: ", err)
		}
	}
}

// refused: its port is not open yet, which the network says at once. The driver would
// wait for more than that.
func (s *sim) refused() bool {
	c, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", s.port))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte{0}); err != nil {
		s.t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	_, err = c.Read(make([]byte, 1))
	return errors.Is(err, syscall.ECONNREFUSED)
}

// setFault turns to the script for what the machine does, to the process for
// silence, and to the driver's own parameters for the rest.
func (s *sim) setFault(fault string) {
	s.t.Helper()
	s.write("fault", fault+"\n")
	s.play(fault)
	word, at, sig := password, s.port, syscall.SIGCONT
	switch fault {
	case devicetest.Hang:
		sig = syscall.SIGSTOP
	case devicetest.WrongPassword:
		word = changed
	case devicetest.Unreachable:
		at = port.UDP(s.t)
	}
	s.Driver = dial(s.t, at, word, nil)
	if err := syscall.Kill(s.pid, sig); err != nil {
		s.t.Fatal(err)
	}
}

// settle does what a slow off still has to do.
func (s *sim) settle() { s.write("power", "0\n") }

func (s *sim) on() bool { return s.read("power") == "1\n" }

// told is in the suite's words; anything but power is in the script's.
func (s *sim) told() []string {
	var words []string
	for line := range strings.Lines(s.read("told")) {
		switch line {
		case "power 0\n":
			line = "off"
		case "power 1\n":
			line = "on"
		}
		words = append(words, line)
	}
	return words
}

func (s *sim) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *sim) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}
