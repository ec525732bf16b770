//go:build linux

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent/supervisor"
	"github.com/nodefence/nodefence/test/rig/port"
)

// bmc is an IPMI simulator by authors who have nothing to do with the driver. Its machine is a
// set of files that a script of ours reads and writes for it.
type bmc struct {
	t    testing.TB
	dir  string
	port int
	pid  int
}

const lan = `name "seven"
startlan 1
addr 127.0.0.1 %d
priv_limit admin
guid 00112233445566778899aabbccddeeff
endlan
chassis_control "%s"
user 2 true "fence" "hunter-2-hunter" admin 10
`

const emu = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
mc_enable 0x20
`

const chassis = `#!/bin/sh
cd "${0%/*}" || exit 1
if [ "$1 $2" = "get power" ]; then
	echo "power:$(cat power)"
	exit
fi
[ "$1" = set ] || exit 1
echo "$2=$3" >>told
[ "$2" = power ] && echo "$3" >power
exit 0
`

func newBMC(t testing.TB) *bmc {
	t.Helper()
	needs(t, "openipmi fence-agents ipmitool", "ipmi_sim", "fence_ipmilan", "ipmitool")
	b := &bmc{t: t, dir: t.TempDir(), port: port.UDP(t)}
	for name, text := range map[string]string{
		"chassis": chassis, "emu": emu, "power": "1\n", "told": "",
		"lan.conf": fmt.Sprintf(lan, b.port, filepath.Join(b.dir, "chassis")),
	} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.pid = begin(t, "ipmi_sim", "-n", "-c", filepath.Join(b.dir, "lan.conf"), "-f", filepath.Join(b.dir, "emu"), "-s", b.dir)
	return b
}

func (b *bmc) told() string {
	text, err := os.ReadFile(filepath.Join(b.dir, "told"))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *bmc) open(password string) device.Driver {
	return open(b.t, "fence_ipmilan", access(strconv.Itoa(b.port), password))
}

func access(port, password string) map[string]string {
	return map[string]string{
		"ip": "127.0.0.1", "ipport": port, "username": "fence", "password": password, "lanplus": "1", "cipher": "3",
	}
}

func TestIPMI(t *testing.T) {
	b := newBMC(t)
	d := b.open("hunter-2-hunter")
	says(t, d, device.On)
	for _, step := range []struct {
		do   func() error
		want device.Power
	}{
		{func() error { return d.Off(t.Context()) }, device.Off},
		{func() error { return d.Off(t.Context()) }, device.Off},
		{func() error { return d.On(t.Context()) }, device.On},
	} {
		if err := step.do(); err != nil {
			t.Error(err)
		}
		says(t, d, step.want)
	}
	// The second off sent no command: the agent looks first.
	if d := cmp.Diff("power=0\npower=1\n", b.told()); d != "" {
		t.Error("the BMC was told", d)
	}
	err := b.open("hunter-3-hunter").Off(t.Context())
	if !errors.Is(err, device.ErrUnreachable) || strings.Contains(err.Error(), "hunter") {
		t.Errorf("wrong password: %v", err) // the agent does not say why
	}
	if err := syscall.Kill(b.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := d.Off(ctx); !errors.Is(err, device.ErrUnreachable) {
		t.Errorf("a BMC that hangs: %v", err)
	}
	if err := syscall.Kill(b.pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	says(t, d, device.On)
}

// fenceAt switches a BMC off.
func fenceAt(port string) error {
	k, err := Kind("fence_ipmilan", installed)
	if err != nil {
		return err
	}
	d, err := k.Open(access(port, "hunter-2-hunter"))
	if err != nil {
		return err
	}
	return d.Off(context.Background())
}

// TestIPMIAfterAKill is about ipmitool, which the agent starts: if it outlived the process that
// fences, it would send its command as soon as the BMC answers (S10).
func TestIPMIAfterAKill(t *testing.T) {
	b := newBMC(t)
	says(t, b.open("hunter-2-hunter"), device.On)
	if err := syscall.Kill(b.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	cmd := fencerProcess(t, fencerAt+"="+strconv.Itoa(b.port))
	tool := func() bool { return len(running("ipmitool", strconv.Itoa(b.port))) > 0 }
	eventually(t, "ipmitool runs", tool)
	for _, pid := range running(installed + "/fence_ipmilan") {
		for _, file := range []string{"cmdline", "environ"} {
			if text, _ := os.ReadFile("/proc/" + pid + "/" + file); bytes.Contains(text, []byte("hunter")) {
				t.Errorf("the agent's %s has the password: %q", file, text) // S29
			}
		}
	}
	for _, pid := range running(supervisor.Name) {
		if text, _ := os.ReadFile("/proc/" + pid + "/environ"); len(text) > 0 {
			t.Errorf("the supervisor has an environment: %q", text)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it says that it was killed
	eventually(t, "ipmitool is gone", func() bool { return !tool() })
	if err := syscall.Kill(b.pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	says(t, b.open("hunter-2-hunter"), device.On)
	if got := b.told(); got != "" {
		t.Errorf("the BMC was told %q", got)
	}
}
