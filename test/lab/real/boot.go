package real

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// Boot is the configuration of a machine's first process.
type Boot struct {
	// Self is this program, Node the node's name, Index its number.
	Self   string
	Node   string
	Index  int
	Zone   string
	UUID   string
	BootID string
	// Group and Netns are where the machine's processes run.
	Group, Netns string
	Address      net.IP
	// Folder has the machine's disks, Volumes the volumes of all machines, Images the archives of images.
	Folder, Volumes, Images string
	// Programs is the executable with kubelet and kube-proxy.
	Programs string
	// Kubeconfig and ProxyKubeconfig are theirs; the rest is for the kubelet's port.
	Kubeconfig, ProxyKubeconfig string
	ClientCA, Cert, Key         string
	// LeaseSeconds is how long a Lease lasts, StatusPeriod how often the kubelet reports.
	LeaseSeconds int
	StatusPeriod string
}

func readBoot(file string) (Boot, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return Boot{}, fmt.Errorf("read boot configuration: %w", err)
	}
	var b Boot
	if err := json.Unmarshal(raw, &b); err != nil {
		return Boot{}, fmt.Errorf("parse %s: %w", file, err)
	}
	return b, nil
}

// Enter moves this process into the cgroups of a machine, and executes unshare, for the machine's namespaces. unshare
// runs Start.
func Enter(file string) error {
	b, err := readBoot(file)
	if err != nil {
		return err
	}
	g, err := newGroup(b.Group)
	if err != nil {
		return err
	}
	if err := g.enter(os.Getpid()); err != nil {
		return err
	}
	args := []string{
		"nsenter", "--net=" + netnsFile(b.Netns), findProgram("unshare"), "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child",
		b.Self, "real", "boot", file,
	}
	return fmt.Errorf("become nsenter: %w", syscall.Exec(findProgram("nsenter"), args, os.Environ()))
}

// Start is the first process of a machine. Start returns if the machine cannot run, or if ctx ends between two starts
// of a service.
func Start(ctx context.Context, file string) error {
	b, err := readBoot(file)
	if err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(b.Node)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	if err := mountAll(b); err != nil {
		return err
	}
	for _, setting := range []string{"ip_forward", "conf/all/route_localnet"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/"+setting, []byte("1"), 0o644); err != nil {
			return fmt.Errorf("set %s: %w", setting, err)
		}
	}
	if err := writeConfigs(b); err != nil {
		return err
	}
	return runServices(ctx, b)
}

func writeJSON(file string, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(raw, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(file), err)
	}
	return nil
}

// writeFiles writes texts to files, and makes their folders.
func writeFiles(files map[string]string) error {
	for file, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	return nil
}
