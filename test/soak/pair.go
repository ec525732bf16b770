package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// restartLimit is how long a nodefence-local may take until it runs again. The API server may
// stand still meanwhile, so that the first start fails.
const restartLimit = 2 * time.Minute

// pair is the two nodefence-local.
type pair struct {
	c *rig.Cluster
	// mu guards all.
	mu  sync.Mutex
	all [2]member
}

// member is one of them: its process, its data folder and its log, and how often it was started.
type member struct {
	*rig.Process
	dir    string
	log    *os.File
	starts int
	// down is set while we have killed it.
	down bool
}

// startPair starts both.
func startPair(ctx context.Context, c *rig.Cluster, dir string) (*pair, error) {
	p := &pair{c: c}
	for i := range p.all {
		m := &p.all[i]
		m.dir, m.down = filepath.Join(dir, fmt.Sprintf("data-%d", i)), true
		err := os.Mkdir(m.dir, 0o700)
		if err == nil {
			m.log, err = os.Create(filepath.Join(dir, fmt.Sprintf("nodefence-local-%d.log", i)))
		}
		if err == nil {
			err = p.start(ctx, i)
		}
		if err != nil {
			p.stop()
			return nil, err
		}
	}
	return p, nil
}

// start starts one on its data folder. What watches over it would start it again if it ended
// before it was ready, and so does this.
func (p *pair) start(ctx context.Context, i int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	for ctx.Err() == nil {
		var started *rig.Process
		if started, err = p.c.StartProcess(ctx, p.all[i].dir, p.all[i].log, "--check-interval", "1m"); err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.all[i].Process, p.all[i].down = started, false
			p.all[i].starts++
			return nil
		}
	}
	return fmt.Errorf("nodefence-local %d was to be ready within %s: %w", i, restartLimit, errors.Join(ctx.Err(), err))
}

// kill ends some with SIGKILL, waits, and starts them again.
func (p *pair) kill(ctx context.Context, which []int, hold time.Duration) error {
	p.mu.Lock()
	for _, i := range which {
		p.all[i].down = true
		p.all[i].Kill()
	}
	p.mu.Unlock()
	if !wait(ctx, hold) {
		return ctx.Err()
	}
	errs := make([]error, len(which))
	var wg sync.WaitGroup
	for n, i := range which {
		wg.Go(func() { errs[n] = p.start(ctx, i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// stop ends both.
func (p *pair) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.all {
		if m.Process != nil {
			m.Kill()
		}
		if m.log != nil {
			_ = m.log.Close()
		}
	}
}

// measure is what both use now. There is no sample while one of them is down, and an error if one
// has ended by itself.
func (p *pair) measure(ctx context.Context) (s sample, all bool, err error) {
	p.mu.Lock()
	members := p.all
	p.mu.Unlock()
	s.at = time.Now()
	for i, m := range members {
		if m.down {
			return s, false, nil
		}
		if m.Ended() {
			p.mu.Lock()
			down := p.all[i].down
			p.mu.Unlock()
			if down {
				return s, false, nil
			}
			return s, false, fmt.Errorf("nodefence-local %d was to run, and has ended by itself; its log ends with:\n%s", i, tail(m.log.Name()))
		}
		rss, anon, err1 := resident(m.PID())
		n, err2 := goroutines(ctx, m.Addr)
		if errors.Join(err1, err2) != nil {
			return s, false, nil // it was killed in between, or its end shows in the next sample
		}
		s.rss, s.anon, s.goroutines, s.starts = s.rss+rss, s.anon+anon, s.goroutines+n, s.starts+m.starts
	}
	return s, true, nil
}

// resident is the memory of a process, and the anonymous part of it, in bytes.
func resident(pid int) (rss, anon int, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	rss, err1 := figure(string(status), "VmRSS:", 1<<10)
	anon, err2 := figure(string(status), "RssAnon:", 1<<10)
	return rss, anon, errors.Join(err1, err2)
}

// goroutines is how many a process says it has.
func goroutines(ctx context.Context, addr string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return figure(string(text), "go_goroutines ", 1)
}

// figure is the number behind a name that begins a line.
func figure(text, name string, unit int) (int, error) {
	for line := range strings.Lines(text) {
		rest, is := strings.CutPrefix(line, name)
		var n int
		if !is {
			continue
		}
		if _, err := fmt.Sscan(rest, &n); err != nil {
			return 0, fmt.Errorf("read %s %q: %w", name, line, err)
		}
		return n * unit, nil
	}
	return 0, fmt.Errorf("find %q: no line begins with it", name)
}

// tail is the end of a file.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-3000):])
}

// controlPlaneOf finds the lab's control plane, once: a handle stays with its process.
func controlPlaneOf(lab *rig.Lab) (*os.Process, error) {
	p, err := lab.ControlPlane()
	if err != nil {
		return nil, fmt.Errorf("find the control plane: %w", err)
	}
	return p, nil
}

// standStill stops the control plane for a time. Whatever happens, it goes on after that.
func standStill(ctx context.Context, plane *os.Process, hold time.Duration) error {
	if err := plane.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	wait(ctx, hold)
	if err := plane.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("let the control plane go on: %w", err)
	}
	return nil
}

// wait lets a time go by, and tells whether it did: false where ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
