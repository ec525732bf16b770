package plane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// readyLimit bounds the start of one program on a busy machine.
const readyLimit = 2 * time.Minute

// process is a program that can be killed and started again.
type process struct {
	name, path, log string
	args, env       []string
	// home is where it runs, and addr where it listens there.
	home *thread
	addr string
	// ready is the path that a kubelet would ask.
	ready string

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
}

// start runs the program. It does not wait until it is ready.
func (p *process) start() error {
	if p.running() {
		return fmt.Errorf("start %s: it runs already", p.name)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(p.path, p.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, log, log
	if err := p.home.start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.ended = cmd, ended
	return nil
}

// kill ends it as a failing machine would, and waits until it has ended. It
// signals our own child that nobody has waited for: never another process.
func (p *process) kill() {
	if cmd, ended := p.current(); cmd != nil {
		_ = cmd.Process.Kill()
		<-ended
	}
}

func (p *process) current() (*exec.Cmd, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd, p.ended
}

func (p *process) running() bool {
	cmd, ended := p.current()
	if cmd == nil {
		return false
	}
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

// waitReady asks what a kubelet would ask.
func (p *process) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	client := &http.Client{Timeout: dialLimit, Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) },
		DisableKeepAlives: true,
	}}
	err := rig.Until(ctx, p.name+" to be ready", func() (bool, error) {
		if !p.running() {
			return false, errors.New("it ended by itself")
		}
		return p.isReady(ctx, client), nil
	})
	if err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, p.tail())
	}
	return nil
}

func (p *process) isReady(ctx context.Context, client *http.Client) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+p.ready, nil)
	if err != nil {
		return false
	}
	r.Header.Set("User-Agent", "kube-probe/1.36") // or Knative takes it for an event
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode >= 200 && answer.StatusCode <= 299
}

func (p *process) dial(ctx context.Context) (net.Conn, error) { return p.home.dial(ctx, p.addr) }

// tail is the end of the log, without the rest of endless lines.
func (p *process) tail() string {
	const lines, width = 15, 300
	b, _ := os.ReadFile(p.log)
	all := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	var out strings.Builder
	for _, l := range all[max(0, len(all)-lines):] {
		fmt.Fprintf(&out, "%s\n", l[:min(len(l), width)])
	}
	return out.String()
}

// memory is the resident set in bytes.
func (p *process) memory() (int64, error) {
	cmd, _ := p.current()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read memory of %s: %w", p.name, err)
	}
	for l := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(l, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("read memory of %s: no VmRSS", p.name)
}
