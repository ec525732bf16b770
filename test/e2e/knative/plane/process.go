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
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// Addresses inside every namespace.
const (
	proxyAddr   = "127.0.0.1:3128"
	programAddr = "127.0.0.1:8080"
)

// tailLines of a program's log are shown when it ends by itself.
const tailLines = 15

// process is one of the programs, in its namespace.
type process struct {
	program
	ns         *netns
	path       string
	env        []string
	log        string
	listeners  []net.Listener
	cmd        *exec.Cmd
	ended      chan struct{}
	readyProbe *http.Client
}

// open makes the namespace: in it the API server and the proxy answer on loopback.
func (p *process) open(apiServer string, proxy *http.Server) error {
	ns, err := newNetns()
	if err != nil {
		return err
	}
	p.ns = ns
	p.readyProbe = &http.Client{Timeout: dialLimit, Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, addr string) (net.Conn, error) { return ns.dial(ctx, addr) },
		DisableKeepAlives: true,
	}}
	api, err := ns.listen(apiServer)
	if err != nil {
		return fmt.Errorf("stand for the API server: %w", err)
	}
	p.listeners = append(p.listeners, api)
	go relay(api, toAddress(apiServer))
	l, err := ns.listen(proxyAddr)
	if err != nil {
		return fmt.Errorf("stand for the cluster's network: %w", err)
	}
	p.listeners = append(p.listeners, l)
	go func() { _ = proxy.Serve(l) }()
	return nil
}

// close ends the process and its namespace.
func (p *process) close() {
	p.kill()
	for _, l := range p.listeners {
		_ = l.Close()
	}
	if p.ns != nil {
		p.ns.close()
	}
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
	if err := p.ns.start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	p.cmd, p.ended = cmd, ended
	return nil
}

// kill ends it as a failing machine would, and waits until it has ended. It
// signals our own child that nobody has waited for: never another process.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// waitReady asks what a kubelet would ask.
func (p *process) waitReady(ctx context.Context) error {
	err := rig.Until(ctx, "Knative's "+p.name+" to be ready", func() (bool, error) {
		if !p.running() {
			return false, errors.New("it ended by itself")
		}
		r, err := p.probe(ctx)
		if err != nil {
			return false, nil
		}
		_ = r.Body.Close()
		return r.StatusCode >= 200 && r.StatusCode <= 299, nil
	})
	if err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, p.tail())
	}
	return nil
}

func (p *process) probe(ctx context.Context) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+programAddr+p.ready, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "kube-probe/1.36") // or it is taken for an event
	return p.readyProbe.Do(r)
}

func (p *process) connect(ctx context.Context) (net.Conn, error) { return p.ns.dial(ctx, programAddr) }

func (p *process) tail() string {
	b, _ := os.ReadFile(p.log)
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}

// memory is the resident set in bytes.
func (p *process) memory() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
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

// readyLimit bounds the start of one program on a busy machine.
const readyLimit = 2 * time.Minute
