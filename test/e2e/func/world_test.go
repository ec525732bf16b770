package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/rig/port"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cluster is a lab with nodefence's kinds, bindings and the policy.
func cluster(ctx context.Context, t *testing.T) *rig.Cluster {
	t.Helper()
	c := rig.ForTest(ctx, t, rig.LabOptions{Name: fmt.Sprintf("func-%d", os.Getpid()), Nodes: 3})
	must(t, c.Furnish(ctx, policy))
	return c
}

// program is a process that serves the functions.
type program struct {
	url string
	log *rig.Log
}

// serve runs a program with that environment and no other, until it answers at
// ready.
func serve(ctx context.Context, t *testing.T, bin, ready string, env ...string) program {
	t.Helper()
	addr, err := port.Free()
	must(t, err)
	_, port, err := net.SplitHostPort(addr)
	must(t, err)
	p := program{url: "http://127.0.0.1:" + port, log: &rig.Log{}}
	cmd := exec.Command(bin)
	cmd.Env, cmd.Stderr, cmd.Stdout = append(env, "PORT="+port, "LISTEN_ADDRESS="+addr), p.log, p.log
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", filepath.Base(bin), err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(bin), p.log)
		}
	})
	must(t, rig.Until(ctx, bin+" to be ready", func() (bool, error) {
		select {
		case err := <-ended:
			ended <- err
			return false, fmt.Errorf("it ended: %w: %s", err, p.log)
		default:
		}
		status, _ := get(t, p.url+ready)
		return status == http.StatusOK, nil
	}))
	return p
}

// get returns zero where nobody answers.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	must(t, err)
	return r.StatusCode, string(b)
}

// deployed is what func and Knative Serving set in a pod; of func.yaml, what the
// file says.
func deployed(t *testing.T) []string {
	t.Helper()
	root, err := rig.Root()
	must(t, err)
	text, err := os.ReadFile(filepath.Join(root, "func.yaml"))
	must(t, err)
	var f struct {
		Run struct {
			Envs []struct{ Name, Value string } `json:"envs"`
		} `json:"run"`
		Deploy struct {
			Options struct {
				Resources struct {
					Limits struct{ Concurrency int } `json:"limits"`
				} `json:"resources"`
			} `json:"options"`
		} `json:"deploy"`
	}
	must(t, yaml.Unmarshal(text, &f))
	if n := f.Deploy.Options.Resources.Limits.Concurrency; n != 1 {
		t.Errorf("func.yaml lets %d events in at once; func's server loses some of them", n)
	}
	env := []string{"FUNC_CREATED=2026-01-01T00:00:00Z", "FUNC_VERSION=", "BUILT=20260101T000000", "K_SERVICE=nodefence"}
	for _, e := range f.Run.Envs {
		env = append(env, e.Name+"="+e.Value)
	}
	return env
}

// relay is between the programs and the API server, and can be cut.
type relay struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

// through is a kubeconfig by which the API server is reached over a relay.
func through(t *testing.T, kubeconfig string) (path string, r *relay) {
	t.Helper()
	cfg, err := clientcmd.LoadFromFile(kubeconfig)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r = &relay{Listener: l}
	t.Cleanup(r.cut)
	for _, c := range cfg.Clusters {
		to := strings.TrimPrefix(c.Server, "https://")
		go r.run(to)
		c.Server = "https://" + l.Addr().String()
	}
	path = filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*cfg, path))
	return path, r
}

func (r *relay) run(to string) {
	for {
		in, err := r.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, in, out)
		r.mu.Unlock()
		go func() { _, _ = io.Copy(out, in) }()
		go func() { _, _ = io.Copy(in, out) }()
	}
}

func (r *relay) cut() {
	_ = r.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
}
