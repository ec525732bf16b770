package rig

import (
	"bytes"
	"context"
	"sync"
	"testing"
)

// ForTest starts a lab that ends with the test, and reaches its API server.
func ForTest(ctx context.Context, t testing.TB, o LabOptions) *Cluster {
	t.Helper()
	lab, err := Up(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(); err != nil {
			t.Errorf("lab left something behind: %v", err)
		}
	})
	c, err := Connect(lab)
	if err != nil {
		t.Fatal(err)
	}
	return c
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

// Log takes what many goroutines and processes write, while others read it.
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
