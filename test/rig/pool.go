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

// ForTest lends a lab until the test ends. A test that sets flags of the control plane gets a lab of its
// own, which ends with the test.
func (p *Pool) ForTest(ctx context.Context, t testing.TB, o LabOptions) *Cluster {
	t.Helper()
	if slices.ContainsFunc(o.Flags, ofControlPlane) {
		o.Name = p.name()
		return ForTest(ctx, t, o)
	}
	lab, err := p.ask(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
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

// ask resets an idle lab, or starts one.
func (p *Pool) ask(ctx context.Context, o LabOptions) (*Lab, error) {
	for lab := p.take(); lab != nil; lab = p.take() {
		err := lab.reset(ctx, o)
		if err == nil {
			return lab, nil
		}
		fmt.Fprintf(os.Stderr, "lab %s is ended, for it could not be reset: %v\n", lab.Name, err)
		if err := lab.Down(); err != nil {
			return nil, err
		}
	}
	lab, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := lab.reset(ctx, o); err != nil {
		return nil, errors.Join(err, lab.Down())
	}
	return lab, nil
}

// start starts a lab without machines, and keeps its content for later resets.
func (p *Pool) start(ctx context.Context) (*Lab, error) {
	lab, err := Up(ctx, LabOptions{Name: p.name(), Flags: []string{"--nodes", "0"}})
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

func (p *Pool) name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	return fmt.Sprintf("%s-%d-%d", p.prefix, os.Getpid(), p.made)
}

func (p *Pool) take() *Lab {
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

// Close ends the labs that no test uses.
func (p *Pool) Close() error {
	var err error
	for lab := p.take(); lab != nil; lab = p.take() {
		err = errors.Join(err, lab.Down())
	}
	return err
}
