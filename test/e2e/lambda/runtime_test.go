package lambda

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is a process that Lambda has started, with Lambda's side of the Runtime API: the
// process asks for an event, and reports the result.
type process struct {
	api     *httptest.Server
	cmd     *exec.Cmd
	started time.Time
	next    chan *invocation
	gone    chan struct{}

	mu      sync.Mutex
	current *invocation
	// first is how long the first event took, from the process's start.
	first time.Duration
}

// invocation is one event in a function's hands.
type invocation struct {
	id      string
	payload []byte
	ended   chan error
}

const (
	runtimePath = "/2018-06-01/runtime/"
	// timeout is the template's.
	timeout = 60 * time.Second
)

// errDied is what Lambda reports about a process that ended during an invocation.
var errDied = errors.New("Runtime.ExitError: the process ended")

// startProcess runs a bootstrap with nothing in its environment but what it is given.
func startProcess(bootstrap string, env map[string]string, log io.Writer) (*process, error) {
	p := &process{next: make(chan *invocation), gone: make(chan struct{})}
	p.api = httptest.NewServer(http.HandlerFunc(p.serve))
	p.cmd = exec.Command(bootstrap)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + p.api.Listener.Addr().String()}
	for k, v := range env {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		p.api.Close()
		return nil, fmt.Errorf("start bootstrap: %w", err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.gone)
		p.api.CloseClientConnections()
		p.api.Close()
	}()
	return p, nil
}

// runs tells whether the process has not ended.
func (p *process) runs() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// coldStart is from the process's start to the end of its first event.
func (p *process) coldStart() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first
}

// kill is SIGKILL, as at a timeout.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// invoke hands one event over and waits for its end.
func (p *process) invoke(inv *invocation) error {
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case p.next <- inv:
	case <-p.gone:
		return errDied
	case <-late.C:
		p.kill()
		return errors.New("Sandbox.Timedout: the process did not ask for an event")
	}
	select {
	case err := <-inv.ended:
		return err
	case <-p.gone:
		return errDied
	case <-late.C:
		p.kill()
		return errors.New("Sandbox.Timedout: the invocation took too long")
	}
}

func (p *process) serve(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, runtimePath)
	switch {
	case ok && path == "invocation/next" && r.Method == http.MethodGet:
		p.serveNext(w, r)
	case ok && r.Method == http.MethodPost:
		p.serveEnd(w, r, path)
	default:
		http.NotFound(w, r)
	}
}

func (p *process) serveNext(w http.ResponseWriter, r *http.Request) {
	var inv *invocation
	select {
	case inv = <-p.next:
	case <-r.Context().Done():
		return
	}
	p.mu.Lock()
	p.current = inv
	p.mu.Unlock()
	w.Header().Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(timeout).UnixMilli()))
	w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:123456789012:function:nodefence")
	_, _ = w.Write(inv.payload)
}

// serveEnd takes invocation/<id>/response and invocation/<id>/error.
func (p *process) serveEnd(w http.ResponseWriter, r *http.Request, path string) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	inv := p.current
	p.mu.Unlock()
	var end error
	switch {
	case inv != nil && path == "invocation/"+inv.id+"/response":
	case inv != nil && path == "invocation/"+inv.id+"/error":
		end = errors.New(string(body))
	default:
		http.Error(w, "no such invocation", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	if p.first == 0 {
		p.first = time.Since(p.started)
	}
	p.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	inv.ended <- end
}

// memory is what the process has needed at most, in MiB.
func (p *process) memory() (peak int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kib int
			_, err := fmt.Sscan(n, &kib)
			return kib >> 10, err
		}
	}
	return 0, errors.New("no VmHWM in /proc")
}
