package rig

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/functions/gate/checks"
	"github.com/nodefence/nodefence/infra/local"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/test/rig/port"
)

// InProcess is nodefence running in the test's own process.
type InProcess struct {
	*local.Local
	cancel context.CancelFunc
	done   chan error
	once   sync.Once
}

// Loopback is the network of the lab's machines, in which no real node is.
const Loopback = "127.0.0.0/8"

// Settings are nodefence's defaults.
func Settings() functions.Settings {
	return functions.Settings{
		Namespace: "nodefence-system", SecretsNamespace: "nodefence-devices", ChecksNamespace: "nodefence-checks", NeighborsImage: "example.invalid/nodefence", JobsNamespace: "nodefence-jobs",
		RequestNamespaces: ask.Namespaces{"nodefence-system"},
		NodeNetworks:      checks.Networks{netip.MustParsePrefix(Loopback)}, // where the lab's machines are
		DeviceCall:        functions.CallTimeout(5 * time.Second),
	}
}

// Start runs nodefence in this process. change, if set, changes the options first.
func (c *Cluster) Start(ctx context.Context, dir string, log io.Writer, change func(*local.Options)) (*InProcess, error) {
	o := local.Options{
		Config: rest.CopyConfig(c.Config), DataDir: dir, Settings: Settings(), NoSync: true,
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&o)
	}
	l, err := local.New(ctx, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &InProcess{Local: l, cancel: cancel, done: make(chan error, 1)}
	go func() { p.done <- l.Run(ctx) }()
	return p, nil
}

// Watching waits until its source watches.
func (p *InProcess) Watching(ctx context.Context) error {
	return Until(ctx, "the source to watch", func() (bool, error) { return p.Ready(ctx) == nil, nil })
}

// Stop ends it and waits until it has ended.
func (p *InProcess) Stop() {
	p.once.Do(func() {
		p.cancel()
		<-p.done
		_ = p.Close()
	})
}

// Process is bin/nodefence-local as a process of its own.
type Process struct {
	Addr string
	cmd  *exec.Cmd
	done chan error
}

// StartProcess runs bin/nodefence-local against the cluster and waits until it is ready.
func (c *Cluster) StartProcess(ctx context.Context, dir string, log io.Writer, args ...string) (*Process, error) {
	return c.startProcess(ctx, nil, http.StatusOK, dir, log, args...)
}

// StartOnSmallDisk is StartProcess with a file system of that size at dir, which only the process
// sees and which is removed with it. disk is its path for others. It needs root.
func (c *Cluster) StartOnSmallDisk(ctx context.Context, dir, size string, log io.Writer, args ...string) (p *Process, disk string, err error) {
	return c.startOnDisk(ctx, "true", dir, size, log, http.StatusOK, args...)
}

// StartOnFullDisk is StartOnSmallDisk with a file system on which there is no room from the
// start. full is the file to remove to make room. It waits until the process answers.
func (c *Cluster) StartOnFullDisk(ctx context.Context, dir, size string, log io.Writer, args ...string) (p *Process, full string, err error) {
	p, disk, err := c.startOnDisk(ctx, `cat /dev/zero > "$2/full" 2> /dev/null; true`, dir, size, log, http.StatusServiceUnavailable, args...)
	return p, filepath.Join(disk, "full"), err
}

func (c *Cluster) startOnDisk(ctx context.Context, fill, dir, size string, log io.Writer, ready int, args ...string) (p *Process, disk string, err error) {
	mount := []string{"unshare", "--mount", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs -o "size=$1" tmpfs "$2" && { ` + fill + `; } && shift 2 && exec "$@"`, "sh", size, dir}
	p, err = c.startProcess(ctx, mount, ready, dir, log, args...)
	if err != nil {
		return nil, "", err
	}
	return p, fmt.Sprintf("/proc/%d/root%s", p.PID(), dir), nil
}

// startProcess lets another program start the process and become it, and waits until it gives
// that answer about its readiness.
func (c *Cluster) startProcess(ctx context.Context, by []string, ready int, dir string, log io.Writer, args ...string) (*Process, error) {
	bin, err := Bin("nodefence-local")
	if err != nil {
		return nil, err
	}
	addr, err := port.Free()
	if err != nil {
		return nil, err
	}
	args = append([]string{"--kubeconfig", c.Lab.Kubeconfig, "--data-dir", dir, "--listen", addr}, args...)
	line := slices.Concat(by, []string{bin}, args)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stderr, cmd.Stdout = log, log
	cmd.Env = append(os.Environ(), "KUBECONFIG=", "NODEFENCE_NODE_NETWORKS="+cmp.Or(c.NodeNetworks, Loopback), "NODEFENCE_DEVICE_CALL_TIMEOUT=5s")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{Addr: addr, cmd: cmd, done: make(chan error, 1)}
	go func() { p.done <- cmd.Wait() }()
	err = Until(ctx, "nodefence-local to be ready", func() (bool, error) {
		select {
		case err := <-p.done:
			p.done <- err
			return false, fmt.Errorf("it ended: %w", err)
		default:
		}
		r, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			return false, nil
		}
		_ = r.Body.Close()
		return r.StatusCode == ready, nil
	})
	if err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended tells whether it has ended, by itself or by us.
func (p *Process) Ended() bool {
	select {
	case err := <-p.done:
		p.done <- err
		return true
	default:
		return false
	}
}

// Kill ends it with SIGKILL, as a failing machine would.
func (p *Process) Kill() { p.end(os.Kill) }

// Stop ends it with SIGINT, as Ctrl-C does.
func (p *Process) Stop() { p.end(os.Interrupt) }

func (p *Process) end(sig os.Signal) {
	if p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(sig)
		err := <-p.done
		p.done <- err
	}
}
