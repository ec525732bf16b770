package real

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	clusterDNS       = "10.96.0.10"
	containerdConfig = "/run/containerd.toml"
	containerdSocket = "/run/containerd/containerd.sock"
	kubeletConfig    = "/run/kubelet.json"
	proxyConfig      = "/run/proxy.json"
	cniConfig        = "/run/cni/net.d"
	// restartPause is between the end of a service and its next start.
	restartPause = time.Second
)

// runServices starts the runtime, the kubelet and kube-proxy, and starts each service again that ends. runServices is
// the machine's first process, and also reaps the orphans of other processes.
func runServices(ctx context.Context, b Boot) error {
	running := map[int]service{}
	if err := startService(running, service{"containerd", findProgram("containerd"), []string{"--config", containerdConfig}}, b); err != nil {
		return err
	}
	if err := awaitRuntime(ctx); err != nil {
		return err
	}
	if err := importImages(b); err != nil {
		return err
	}
	for _, s := range []service{
		{"kubelet", b.Programs, kubeletFlags(b)},
		{"kube-proxy", b.Programs, []string{"kube-proxy", "--config=" + proxyConfig, "--v=2"}},
	} {
		if err := startService(running, s, b); err != nil {
			return err
		}
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for services: %w", err)
		}
		s, is := running[pid]
		if !is {
			continue
		}
		delete(running, pid)
		fmt.Printf("%s has ended with %d, and starts again\n", s.name, status)
		if err := waitFor(ctx, restartPause); err != nil {
			return fmt.Errorf("start %s again: %w", s.name, err)
		}
		if err := startService(running, s, b); err != nil {
			return err
		}
	}
}

// service is a program that runs as long as the machine.
type service struct {
	name, program string
	args          []string
}

// waitFor returns after a time, or when ctx ends.
func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// startService starts a service. The loop of runServices alone waits for the end of the service.
func startService(running map[int]service, s service, b Boot) error {
	log, err := os.OpenFile(filepath.Join(b.Folder, s.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", s.name, err)
	}
	defer log.Close()
	process, err := os.StartProcess(s.program, append([]string{s.program}, s.args...), &os.ProcAttr{Files: []*os.File{nil, log, log}})
	if err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	running[process.Pid] = s
	return process.Release()
}

// awaitRuntime waits until containerd answers.
func awaitRuntime(ctx context.Context) error {
	return waitUntil(ctx, "containerd to answer", func() (bool, error) {
		return runProgram(ctx, "", "ctr", "--address", containerdSocket, "version") == nil, nil
	})
}

// importImages loads the archives that the machine has not loaded yet.
func importImages(b Boot) error {
	all, err := filepath.Glob(filepath.Join(b.Images, "*.tar"))
	if err != nil {
		return err
	}
	for _, archive := range all {
		done := filepath.Join(b.Folder, "imported-"+filepath.Base(archive))
		if _, err := os.Stat(done); err == nil {
			continue
		}
		if err := ImportImage(archive); err != nil {
			return err
		}
		if err := os.WriteFile(done, nil, 0o600); err != nil {
			return fmt.Errorf("note import of %s: %w", archive, err)
		}
	}
	return nil
}

// ImportImage loads one archive into the machine that runs this process.
func ImportImage(archive string) error {
	out, err := exec.Command(findProgram("ctr"), "--address", containerdSocket, "--namespace", "k8s.io", "images", "import", archive).CombinedOutput()
	if err != nil {
		return fmt.Errorf("import %s: %w: %s", filepath.Base(archive), err, bytes.TrimSpace(out))
	}
	return nil
}

func kubeletFlags(b Boot) []string {
	return []string{
		"kubelet", "--config=" + kubeletConfig, "--kubeconfig=" + b.Kubeconfig, "--hostname-override=" + b.Node,
		"--node-ip=" + b.Address.String(), "--node-labels=topology.kubernetes.io/zone=" + b.Zone, "--root-dir=/var/lib/kubelet", "--v=2",
	}
}
