package real

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/google/uuid"

	"github.com/nodefence/nodefence/test/lab/machine/bmc"
)

// The states of a machine, named as those of simulated machines.
const (
	stateOff         = "off"
	stateRunning     = "running"
	stateCrashed     = "crashed"
	statePartitioned = "partitioned"
)

// machine is one machine, and implements bmc.Machine.
type machine struct {
	boot   Boot
	folder string
	layout Layout
	nodes  int
	group  group
	// self is this program.
	self   string
	ctx    context.Context
	bmc    *controller
	orders chan order
	// lit is power, for readers without the lock: a change of power may take long.
	lit atomic.Bool

	mu         sync.Mutex
	power, cut bool
	crashed    bool
	system     *system
}

// system is one run of a machine, from its power-on.
type system struct {
	process *exec.Cmd
	ended   chan struct{}
}

var _ bmc.Machine = (*machine)(nil)

// Power is whether the power is on: whether anything of the machine may run.
func (m *machine) Power() bool { return m.lit.Load() }

// The orders of a BMC are carried out one after another, and answered before: a BMC whose answer is late is told the
// same again.

// PowerOff orders to cut the power.
func (m *machine) PowerOff() { m.orders <- order{"power off", (*machine).switchOff} }

// PowerOn orders to boot a machine that is off.
func (m *machine) PowerOn() { m.orders <- order{"power on", (*machine).switchOn} }

// Reset orders to restart a machine that is on.
func (m *machine) Reset() { m.orders <- order{"reset", (*machine).restart} }

// ShutDown orders to switch a machine off, unless it hangs: it has no ACPI that would tell its processes.
func (m *machine) ShutDown() { m.orders <- order{"shut down", (*machine).shutDown} }

// order is a command of a BMC to a machine.
type order struct {
	what string
	do   func(*machine) error
}

// obey carries out the orders of the BMC, and logs errors: a BMC has answered before.
func (m *machine) obey() {
	for o := range m.orders {
		m.mu.Lock()
		if err := o.do(m); err != nil {
			slog.Error("machine failed", "node", m.boot.Node, "what", o.what, "error", err)
		}
		m.mu.Unlock()
	}
}

func (m *machine) restart() error {
	if !m.power {
		return nil
	}
	if err := m.switchOff(); err != nil {
		return err
	}
	return m.switchOn()
}

func (m *machine) shutDown() error {
	if m.crashed {
		return nil
	}
	return m.switchOff()
}

// switchOff and the methods below are called under the lock.
func (m *machine) switchOff() error {
	if !m.power {
		return nil
	}
	if err := m.end(); err != nil {
		return err
	}
	m.power, m.crashed, m.system = false, false, nil
	m.lit.Store(false)
	return errors.Join(plugOut(m.ctx, m.layout, m.boot.Node), m.group.remove(m.ctx))
}

// end kills all processes. The first process may not be in its cgroup yet.
func (m *machine) end() error {
	err := m.group.kill(m.ctx)
	if m.system != nil {
		_ = m.system.process.Process.Kill() // or it has ended
		<-m.system.ended
		err = errors.Join(err, m.group.kill(m.ctx))
	}
	return err
}

func (m *machine) switchOn() error {
	if m.power {
		return nil
	}
	m.boot.BootID = uuid.NewString()
	if err := m.prepare(); err != nil {
		return err
	}
	if err := errors.Join(m.group.create(), plugIn(m.ctx, m.layout, m.boot.Node, m.boot.Index, m.nodes)); err != nil {
		return err
	}
	if err := setCable(m.ctx, m.layout, m.boot.Node, !m.cut); err != nil {
		return err
	}
	s, err := m.startSystem()
	if err != nil {
		return err
	}
	m.power, m.system = true, s
	m.lit.Store(true)
	go m.watch(s)
	return nil
}

// bootFile is the configuration file of the machine's first process.
func (m *machine) bootFile() string { return filepath.Join(m.folder, "boot.json") }

// prepare makes the machine's disks. A power loss does not change disks.
func (m *machine) prepare() error {
	for _, disk := range disks {
		if err := os.MkdirAll(filepath.Join(m.folder, disk.folder), 0o755); err != nil {
			return fmt.Errorf("make disk of %s: %w", m.boot.Node, err)
		}
	}
	return writeJSON(m.bootFile(), m.boot)
}

func (m *machine) startSystem() (*system, error) {
	console, err := os.OpenFile(filepath.Join(m.folder, "console.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open console of %s: %w", m.boot.Node, err)
	}
	defer console.Close()
	cmd := exec.Command(m.self, "real", "enter", m.bootFile())
	cmd.Stdout, cmd.Stderr = console, console
	cmd.Env = append(os.Environ(), "PATH="+searchPath, "GOMEMLIMIT=", "TMPDIR="+temporary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", m.boot.Node, err)
	}
	return &system{process: cmd, ended: make(chan struct{})}, nil
}

// watch notes the end of a machine's first process. The machine hangs from then on.
func (m *machine) watch(s *system) {
	_ = s.process.Wait()
	close(s.ended)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.system == s && m.power {
		m.crashed = true
		slog.Error("first process of machine has ended", "node", m.boot.Node)
	}
}

func (m *machine) state() string {
	switch {
	case !m.power:
		return stateOff
	case m.crashed:
		return stateCrashed
	case m.cut:
		return statePartitioned
	}
	return stateRunning
}
