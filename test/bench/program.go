package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/rig/port"
)

// starts is how often each program is started.
const starts = 15

// measurePrograms tells what the functions' program weighs, and how soon after
// its start it has handled an event.
func measurePrograms(ctx context.Context) (err error) {
	c, err := world(ctx, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	for _, name := range []string{"nodefence", "nodefence-source", "nodefence-local"} {
		bin, err := rig.Bin(name)
		if err != nil {
			return err
		}
		info, err := os.Stat(bin)
		if err != nil {
			return err
		}
		fmt.Printf("size of %-17s %5.1f MB\n", name, float64(info.Size())/1e6)
	}
	for _, function := range []string{"gate", "isolate", "power", "cleanup", "recover", "deadletter"} {
		var took []time.Duration
		memory := ""
		for range starts {
			d, rss, err := first(ctx, c.Cluster, function)
			if err != nil {
				return err
			}
			took, memory = append(took, d), rss
		}
		slices.Sort(took)
		fmt.Printf("%-11s process start → first event handled: p50 %3d ms, most %3d ms; holds %s\n", function,
			took[len(took)/2].Milliseconds(), took[len(took)-1].Milliseconds(), memory)
	}
	return nil
}

// first starts one function and hands it an event about a node that is not there,
// again and again until it is answered.
func first(ctx context.Context, c *rig.Cluster, function string) (took time.Duration, memory string, err error) {
	bin, err := rig.Bin("nodefence")
	if err != nil {
		return 0, "", err
	}
	addr, err := port.Free()
	if err != nil {
		return 0, "", err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, "", err
	}
	cmd := exec.CommandContext(ctx, bin)
	cmd.Env = []string{"NODEFENCE_FUNCTION=" + function, "NODE_NAME=none", "KUBECONFIG=" + c.Lab.Kubeconfig, "PORT=" + port, "HOME=" + os.TempDir()}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, "", err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for took == 0 {
		if err := ctx.Err(); err != nil {
			return 0, "", err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%s/", port), bytes.NewBufferString("{}"))
		if err != nil {
			return 0, "", err
		}
		for k, v := range map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.fence.finished.v1", "ce-source": "/bench", "ce-id": "1", "ce-subject": "nobody"} {
			req.Header.Set(k, v)
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			continue // not listening yet
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusAccepted {
			return 0, "", fmt.Errorf("%s answered %s", function, r.Status)
		}
		took = time.Since(begun)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return 0, "", err
	}
	for l := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(l, "VmRSS:"); ok {
			memory = strings.TrimSpace(v)
		}
	}
	return took, memory, nil
}

// measureChains runs the chains of the other platforms, and prints their figures.
func measureChains(ctx context.Context) error {
	root, err := rig.Root()
	if err != nil {
		return err
	}
	for _, suite := range []string{"test/e2e/lambda", "test/e2e/knative"} {
		fmt.Fprintf(os.Stderr, "fencing in %s\n", suite)
		cmd := exec.CommandContext(ctx, "go", "test", "-tags", "bench", "-run", "TestBenchChain|TestMeasure", "-count=1", "-v", "-timeout", "30m", ".")
		cmd.Dir = filepath.Join(root, suite)
		if err := pass(cmd, logged); err != nil {
			return fmt.Errorf("%s: %w", suite, err)
		}
	}
	return nil
}

// logged prints what a test logs.
func logged(line string) {
	if _, text, ok := strings.Cut(line, "_test.go:"); ok {
		_, text, _ = strings.Cut(text, ": ")
		fmt.Println(text)
	}
}

// pass runs a test and hands on each line that it says, as it comes. All of them
// are in the error.
func pass(cmd *exec.Cmd, line func(string)) error {
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	var all strings.Builder
	done := make(chan error, 1)
	go func() {
		in := bufio.NewScanner(r)
		for in.Scan() {
			all.WriteString(in.Text() + "\n")
			line(in.Text())
		}
		done <- in.Err()
	}()
	err := cmd.Run()
	_ = w.Close()
	if err := errors.Join(err, <-done); err != nil {
		return fmt.Errorf("%w\n%s", err, &all)
	}
	return nil
}
