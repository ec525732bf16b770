package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// Pool has control planes with nodefence's kinds, which tests use one after another. Each test gets
// one with the content of a new one, and machines of its own. A lab that cannot be reset, or in which
// a test has failed, is ended.
type Pool struct {
	prefix string
	mu     sync.Mutex
	made   int
	idle   []*Lab
}

// NewPool is empty. prefix begins the names of its labs.
func NewPool(prefix string) *Pool { return &Pool{prefix: prefix} }

// ForTest lends a lab until the test ends. A test that sets flags of the control plane gets a new lab,
// which ends with the test.
func (p *Pool) ForTest(ctx context.Context, t testing.TB, o LabOptions) *Cluster {
	t.Helper()
	if slices.ContainsFunc(o.Flags, ofControlPlane) {
		o.Name = p.nextName()
		return ForTest(ctx, t, o)
	}
	lab, err := p.lend(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		lab.judgeForTest(t)
		if t.Failed() || lab.restarted {
			lab.endForTest(t)
			return
		}
		p.giveBack(lab)
	})
	c, err := Connect(lab)
	if err != nil {
		t.Fatal(err)
	}
	c.installed = true
	return c
}

// ofControlPlane reports whether `nodefence-lab reset` cannot honour a flag.
func ofControlPlane(flag string) bool {
	return slices.Contains([]string{"--grace", "--eviction", "--fsync"}, flag)
}

// lend resets an idle lab, or starts one.
func (p *Pool) lend(ctx context.Context, o LabOptions) (*Lab, error) {
	for lab := p.takeIdle(); lab != nil; lab = p.takeIdle() {
		err := lab.reset(ctx, o)
		if err == nil {
			return lab, nil
		}
		fmt.Fprintf(os.Stderr, "lab %s is ended, for it could not be reset: %v\n", lab.Name, err)
		if err := lab.Down(); err != nil {
			return nil, err
		}
	}
	lab, err := p.startLab(ctx)
	if err != nil {
		return nil, err
	}
	if err := lab.reset(ctx, o); err != nil {
		return nil, errors.Join(err, lab.Down())
	}
	return lab, nil
}

// startLab starts a lab without machines, and keeps its content for later resets.
func (p *Pool) startLab(ctx context.Context) (*Lab, error) {
	lab, err := Up(ctx, LabOptions{Name: p.nextName(), Flags: []string{"--nodes", "0"}})
	if err != nil {
		return nil, err
	}
	c, err := Connect(lab)
	if err == nil {
		err = c.Install(ctx)
	}
	if err == nil {
		_, err = lab.run("keep")
	}
	if err != nil {
		return nil, errors.Join(err, lab.Down())
	}
	return lab, nil
}

func (p *Pool) nextName() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	return fmt.Sprintf("%s-%d-%d", p.prefix, os.Getpid(), p.made)
}

func (p *Pool) takeIdle() *Lab {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	lab := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return lab
}

func (p *Pool) giveBack(lab *Lab) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, lab)
}

// Main runs a package's tests, ends the labs of the pool, and returns the exit code.
func (p *Pool) Main(m *testing.M) int {
	code := m.Run()
	if err := p.close(); err != nil {
		fmt.Fprintf(os.Stderr, "labs left something behind: %v\n", err)
		return 1
	}
	return code
}

// close ends the labs that no test uses.
func (p *Pool) close() error {
	var err error
	for lab := p.takeIdle(); lab != nil; lab = p.takeIdle() {
		err = errors.Join(err, lab.Down())
	}
	return err
}
