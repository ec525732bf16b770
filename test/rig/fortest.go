package rig

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// ForTest starts a lab that ends with the test, and reaches its API server. The history of the lab is judged at
// the end.
func ForTest(ctx context.Context, t testing.TB, o LabOptions) *Cluster {
	t.Helper()
	lab, err := Up(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		lab.judgeForTest(t)
		lab.endForTest(t)
	})
	c, err := Connect(lab)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (l *Lab) endForTest(t testing.TB) {
	t.Helper()
	if err := l.Down(); err != nil {
		t.Errorf("lab left something behind: %v", err)
	}
}

// Quick makes a fence's own waits short; the proof stays the same. The limits of each step are long: on a busy machine a
// step that is only slow must not count as failed.
const Quick = `
power: {offTimeout: 1m, retryInterval: 1s}
recovery: {bootTimeout: 5m, readyDuration: 1s}
limits: {maxUnhealthy: "50%", maxConcurrent: 3, stormCoolDown: 1s}
`

// CheckWords fails the test unless the BMC of a node accepted these commands, besides reads.
func (l *Lab) CheckWords(t testing.TB, node, want string) {
	t.Helper()
	got, err := l.Words(node)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the BMC of %s was told %q, want %q", node, got, want)
	}
}

// Furnish installs nodefence's kinds, binds each machine to its BMC, and applies a policy.
func (c *Cluster) Furnish(ctx context.Context, policy string) error {
	if err := c.Install(ctx); err != nil {
		return err
	}
	machines, err := c.Lab.Machines()
	if err != nil {
		return err
	}
	if err := c.Bind(ctx, machines); err != nil {
		return err
	}
	return c.Apply(ctx, Policy("default", policy))
}

// Log takes the output of many goroutines and processes, while others read it.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Bytes are what was written until now.
func (l *Log) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

func (l *Log) String() string { return string(l.Bytes()) }

// Tell prints what happened if the test has failed.
func (c *Cluster) Tell(t testing.TB, log *Log) {
	if !t.Failed() {
		return
	}
	fences, err := c.Fences.Fences(context.Background())
	if err != nil {
		t.Logf("fences: %v", err)
	}
	for i := range fences {
		words, _ := c.Lab.Words(fences[i].Name)
		t.Logf("%s is %s; its BMC was told: %q\n%s", fences[i].Name, fences[i].Status.Phase, words, Story(&fences[i]))
	}
	path := filepath.Join(os.TempDir(), "nodefence-"+strings.ReplaceAll(t.Name(), "/", "-")+".log")
	if os.WriteFile(path, log.Bytes(), 0o600) == nil {
		t.Logf("nodefence's log: %s", path)
	}
}
