package real

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/nodefence/nodefence/test/lab/machine/bmc"
)

// controller is the BMC of a machine: OpenIPMI's ipmi_sim with a script that asks and tells the machine.
type controller struct {
	*bmc.Panel
	node, folder, address string
	guid                  uuid.UUID
	username, password    string
	layout                Layout
	group                 group
	program               *exec.Cmd
	ended                 chan struct{}
	// stale means that the program is stopped, or has another password.
	stale bool
}

const bmcPort = "623"

// emulation describes the one management controller.
const emulation = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
mc_enable 0x20
`

// lanConfig is how ipmi_sim serves: address, port, GUID, node, script, user and password.
const lanConfig = `name %[4]q
startlan 1
addr %[1]s %[2]s
priv_limit admin
guid %[3]x
endlan
chassis_control %[5]q
user 2 true %[6]q %[7]q admin 10
`

// script is the command of ipmi_sim for "get power" and the like.
const script = "#!/bin/sh\nexec %s real chassis %s %s \"$@\"\n"

// install writes the configuration of ipmi_sim. Calls of ipmi_sim reach the machine by the socket.
func (c *controller) install(self, socket string) error {
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return fmt.Errorf("make folder of BMC: %w", err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(c.folder, "chassis"), fmt.Appendf(nil, script, self, socket, c.node), 0o700),
		os.WriteFile(filepath.Join(c.folder, "emulation"), []byte(emulation), 0o600))
}

// start runs ipmi_sim with this password, in a cgroup of the lab: Clean finds the process there.
func (c *controller) start(password string) error {
	wire := bmc.Wire(c.guid)
	config := fmt.Sprintf(lanConfig, c.address, bmcPort, wire[:], c.node, filepath.Join(c.folder, "chassis"), c.username, password)
	if err := os.WriteFile(filepath.Join(c.folder, "lan.conf"), []byte(config), 0o600); err != nil {
		return fmt.Errorf("write configuration of BMC: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(c.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log of BMC: %w", err)
	}
	defer log.Close()
	path, args := c.layout.InSwitch(findProgram("ipmi_sim"), "-n", "-c", "lan.conf", "-f", "emulation", "-s", c.folder)
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.folder, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start BMC of %s: %w", c.node, err)
	}
	c.program, c.ended = cmd, make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(c.ended)
	}()
	return c.group.enter(cmd.Process.Pid)
}

// stop ends ipmi_sim, also a stopped process.
func (c *controller) stop() {
	_ = c.program.Process.Kill() // or it has ended
	<-c.ended
}

// spoil sets or ends a fault of the BMC. ipmi_sim is stopped for the fault Hang, and later started anew without the
// commands of the meantime.
func (c *controller) spoil(fault string) error {
	kind, err := c.SetFault(fault, bmc.Reset)
	if err != nil {
		return err
	}
	if kind == bmc.Hang {
		c.stale = true
		return c.program.Process.Signal(syscall.SIGSTOP)
	}
	password := c.password
	if kind == bmc.WrongPassword {
		password = "not-" + password[:12]
	}
	if !c.stale && kind != bmc.WrongPassword {
		return nil
	}
	c.stop()
	c.stale = kind == bmc.WrongPassword
	return c.start(password)
}

// answer is the machine's to a call of the script: "get power", "set power 0", "set reset 1".
func (c *controller) answer(args []string) (string, error) {
	line := strings.Join(args, " ")
	switch {
	case line == "get power":
		if c.Read() {
			return "power:1\n", nil
		}
		return "power:0\n", nil
	case line == "set power 0":
		return "", c.Order("off")
	case line == "set power 1":
		return "", c.Order("on")
	case strings.HasPrefix(line, "set reset"):
		return "", c.Order("reset")
	case strings.HasPrefix(line, "set shutdown"):
		return "", c.Order("soft")
	}
	return "", fmt.Errorf("a machine of the lab has no answer to %q", line)
}
