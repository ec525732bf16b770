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
	"syscall"

	"github.com/google/uuid"

	"github.com/nodefence/nodefence/test/lab/machine/bmc"
)

// The states of a machine, by the names that simulated machines have.
const (
	stateOff         = "off"
	stateRunning     = "running"
	stateCrashed     = "crashed"
	statePartitioned = "partitioned"
)

// machine is one machine. Its methods PowerOff and so on are what bmc.Machine wants.
type machine struct {
	boot   Boot
	folder string
	layout Layout
	nodes  int
	group  group
	// self is this program.
	self string
	ctx  context.Context
	bmc  *controller

	mu             sync.Mutex
	power, cut     bool
	crashed        bool
	system         *system
	username, pass string
}

// system is one run of a machine, from its power-on.
type system struct {
	process *exec.Cmd
	ended   chan struct{}
}

var _ bmc.Machine = (*machine)(nil)

// Power is whether the power is on.
func (m *machine) Power() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.power
}

// PowerOff cuts it; when it returns, nothing of the machine runs.
func (m *machine) PowerOff() { m.locked("power off", m.switchOff) }

// PowerOn boots a machine that is off.
func (m *machine) PowerOn() { m.locked("power on", m.switchOn) }

// Reset restarts a machine that is on.
func (m *machine) Reset() {
	m.locked("reset", func() error {
		if !m.power {
			return nil
		}
		if err := m.switchOff(); err != nil {
			return err
		}
		return m.switchOn()
	})
}

// ShutDown switches a machine off that is not frozen: it has no ACPI that would tell its processes.
func (m *machine) ShutDown() {
	m.locked("shut down", func() error {
		if m.crashed {
			return nil
		}
		return m.switchOff()
	})
}

// locked is for a BMC, which has nobody to tell an error.
func (m *machine) locked(what string, do func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := do(); err != nil {
		slog.Error("machine failed", "node", m.boot.Node, "what", what, "error", err)
	}
}

// switchOff is called under the lock, as is all that follows.
func (m *machine) switchOff() error {
	if !m.power {
		return nil
	}
	if err := m.end(); err != nil {
		return err
	}
	m.power, m.crashed, m.system = false, false, nil
	return errors.Join(plugOut(m.ctx, m.layout, m.boot.Node), m.group.remove(m.ctx))
}

// end kills all that runs. The first process may not be in its cgroup yet.
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
	go m.watch(s)
	return nil
}

// bootFile is what the machine's first process reads.
func (m *machine) bootFile() string { return filepath.Join(m.folder, "boot.json") }

// prepare makes the machine's disks, which a power loss leaves as they are.
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
	cmd.Env = append(os.Environ(), "PATH="+path(), "GOMEMLIMIT=", "TMPDIR="+temporary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", m.boot.Node, err)
	}
	return &system{process: cmd, ended: make(chan struct{})}, nil
}

// watch notes the end of a machine's first process, after which the machine hangs.
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
