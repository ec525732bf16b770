package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// build is one build of the functions' program, and what was measured of it.
type build struct {
	name, file string
	size       int64
	starts     []start
}

// start is one start of it.
type start struct {
	// took is from the start of the process to its first answer to an event, and cpu the processor time
	// of the whole process.
	took, cpu time.Duration
	// holds is the memory of the process then.
	holds string
}

// builds are the one of this commit, and before it the one that PROGRAMS_BEFORE names, if any.
func builds() ([]build, error) {
	file, err := rig.Bin("nodefence")
	if err != nil {
		return nil, err
	}
	all := []build{{name: "nodefence", file: file}}
	if before := os.Getenv("PROGRAMS_BEFORE"); before != "" {
		all = []build{{name: "before", file: before}, all[0]}
	}
	for i := range all {
		info, err := os.Stat(all[i].file)
		if err == nil {
			all[i].file, err = filepath.Abs(all[i].file) // a bare name would be looked for in $PATH
		}
		if err != nil {
			return nil, fmt.Errorf("PROGRAMS_BEFORE: %w: name the file of a program that was built of functions/cmd/nodefence, with go build -ldflags '-s -w' as the Makefile does", err)
		}
		all[i].size = info.Size()
	}
	return all, nil
}

// measurePrograms tells what the functions' program weighs, and how soon after its start it has handled an
// event. With PROGRAMS_BEFORE a build of an earlier commit is measured in turns with it.
func measurePrograms(ctx context.Context) (err error) {
	all, err := builds()
	if err != nil {
		return err
	}
	c, err := world(ctx, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	if err := sizes(all); err != nil {
		return err
	}
	for _, function := range []string{"gate", "isolate", "power", "cleanup", "recover", "deadletter"} {
		if err := inTurns(ctx, c.Cluster, all, function); err != nil {
			return err
		}
	}
	if len(all) > 1 {
		compare(all[0], all[1])
	}
	return nil
}

// sizes tells what each program weighs.
func sizes(all []build) error {
	for _, b := range all {
		fmt.Printf("size of %-17s %5.1f MB\n", b.name, float64(b.size)/1e6)
	}
	for _, name := range []string{"nodefence-source", "nodefence-local"} {
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
	return nil
}

// inTurns starts one function of each build, one build after the other each time.
func inTurns(ctx context.Context, c *rig.Cluster, all []build, function string) error {
	for range starts {
		for i := range all {
			s, err := first(ctx, c, all[i].file, function)
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].file, err)
			}
			all[i].starts = append(all[i].starts, s)
		}
	}
	for _, b := range all {
		last := b.starts[len(b.starts)-starts:]
		took := times(last, func(s start) time.Duration { return s.took })
		fmt.Printf("%-11s %-10s process start → first event handled: p50 %3d ms, most %3d ms; holds %s\n", function, b.name,
			quantile(took, .5).Milliseconds(), slices.Max(took).Milliseconds(), last[len(last)-1].holds)
	}
	return nil
}

// compare tells by how much the second build is larger than the first, and starts later.
func compare(before, now build) {
	fmt.Printf("size: %.1f → %.1f MB (%+.1f %%)\n", float64(before.size)/1e6, float64(now.size)/1e6, 100*float64(now.size-before.size)/float64(before.size))
	for _, figure := range []struct {
		name string
		of   func(start) time.Duration
	}{
		{"process start → first event handled", func(s start) time.Duration { return s.took }},
		{"processor time of the process until then", func(s start) time.Duration { return s.cpu }},
	} {
		was, is := times(before.starts, figure.of), times(now.starts, figure.of)
		a, b := quantile(was, .5), quantile(is, .5)
		fmt.Printf("%s, of all functions: before %s; now %s (p50 %+.1f %%)\n", figure.name, quantiles(was), quantiles(is), 100*float64(b-a)/float64(a))
	}
}

func times(all []start, of func(start) time.Duration) (out []time.Duration) {
	for _, s := range all {
		out = append(out, of(s))
	}
	return out
}

// first starts one function and hands it an event about a node that is not there,
// again and again until it is answered.
func first(ctx context.Context, c *rig.Cluster, bin, function string) (s start, err error) {
	addr, err := port.Free()
	if err != nil {
		return start{}, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return start{}, err
	}
	cmd := exec.CommandContext(ctx, bin)
	cmd.Env = []string{"NODEFENCE_FUNCTION=" + function, "NODE_NAME=none", "KUBECONFIG=" + c.Lab.Kubeconfig, "PORT=" + port, "HOME=" + os.TempDir()}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return start{}, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	defer func() {
		_ = cmd.Process.Kill()
		<-ended
		s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}()
	for s.took == 0 {
		select {
		case <-ctx.Done():
			return start{}, ctx.Err()
		case <-ended:
			return start{}, fmt.Errorf("function %s ended at once: %s", function, cmd.ProcessState)
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%s/", port), bytes.NewBufferString("{}"))
		if err != nil {
			return start{}, err
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
			return start{}, fmt.Errorf("%s answered %s", function, r.Status)
		}
		s.took = time.Since(begun)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return start{}, err
	}
	for l := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(l, "VmRSS:"); ok {
			s.holds = strings.TrimSpace(v)
		}
	}
	return s, nil
}
