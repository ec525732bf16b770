package supervisor

import (
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A process that was started to supervise does so and ends. Any other continues.
func init() {
	if len(os.Args) == 1 && os.Args[0] == Name {
		os.Exit(supervise(os.Stdin, os.Stdout))
	}
}

// supervise runs one agent and returns when all is over.
func supervise(in io.Reader, out io.Writer) int {
	// The agent gets a signal when the thread ends that started it.
	runtime.LockOSThread()
	// A supervisor that gets these signals continues until there is nothing to supervise. It
	// catches and does not ignore them, because the agent would inherit that they are ignored.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	var j Job
	words := json.NewDecoder(in)
	if words.Decode(&j) != nil {
		return 1 // nobody is there any more
	}
	// Children whose parents have ended become children of this process instead of init's, and
	// are found.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return tell(out, Outcome{Err: "become the subreaper: " + err.Error()})
	}
	// A core dump would have the secrets.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return tell(out, Outcome{Err: "forbid core dumps: " + err.Error()})
	}
	late, err := alarm(j.Until)
	if err != nil {
		return tell(out, Outcome{Err: "set a timer: " + err.Error()})
	}
	alone := make(chan struct{})
	go func() { defer close(alone); _, _ = io.Copy(io.Discard, in) }()
	return tell(out, watch(j, late, alone))
}

func tell(out io.Writer, o Outcome) int {
	if json.NewEncoder(out).Encode(o) != nil {
		return 1
	}
	return 0
}

// watch starts the agent, and ends it when its time or its parent is over. It
// ends what the agent left behind as well.
func watch(j Job, late, alone <-chan struct{}) Outcome {
	p, err := start(j)
	if err != nil {
		return Outcome{Err: err.Error()}
	}
	o := Outcome{Code: -1}
	select {
	case o.Code = <-p.code:
	case <-late:
		o.Late = true
	case <-alone:
	}
	killAll(p.none)
	o.Stdout, o.Stderr = <-p.stdout, <-p.stderr
	return o
}

// process is a started agent.
type process struct {
	code           chan int
	stdout, stderr chan Text
	// none is closed when this process has no children at all.
	none chan struct{}
}

// environment is the agent's whole environment. A proxy, a cloud's credentials and the like
// belong to this program, and the agent does not get them.
var environment = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent", "PYTHONDONTWRITEBYTECODE=1",
}

func start(j Job) (*process, error) {
	var theirs, ours [3]*os.File
	for i := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		theirs[i], ours[i] = w, r
		if i == 0 {
			theirs[i], ours[i] = r, w
		}
	}
	pid, err := syscall.ForkExec(j.Path, append([]string{j.Path}, j.Args...), &syscall.ProcAttr{
		Dir: "/", Env: environment, Files: []uintptr{theirs[0].Fd(), theirs[1].Fd(), theirs[2].Fd()},
		// The agent has no terminal, and is killed if this process is killed.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		return nil, err
	}
	p := &process{code: make(chan int, 1), none: make(chan struct{}), stdout: make(chan Text, 1), stderr: make(chan Text, 1)}
	go func() { _, _ = ours[0].Write(j.Input); _ = ours[0].Close() }()
	go func() { p.stdout <- read(ours[1], MaxStdout) }()
	go func() { p.stderr <- read(ours[2], MaxStderr) }()
	go p.reap(pid)
	return p, nil
}

// read keeps the beginning and continues to read, so that the writer never waits.
func read(f *os.File, most int64) Text {
	data, _ := io.ReadAll(io.LimitReader(f, most))
	n, _ := io.Copy(io.Discard, f)
	_ = f.Close()
	return Text{Data: data, Cut: n > 0}
}

// reap takes the end of every child, the agent and what was left to this process. When there is
// no child, there is no descendant either, because each descendant's parent is a descendant or
// this process.
func (p *process) reap(agent int) {
	defer close(p.none)
	for {
		var w unix.WaitStatus
		pid, err := unix.Wait4(-1, &w, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return
		case pid == agent && w.Exited():
			p.code <- w.ExitStatus()
		case pid == agent:
			p.code <- -1
		}
	}
}

// alarm rings at a time of the clock that does not stop when the machine sleeps.
func alarm(at int64) (<-chan struct{}, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(at, 1))} // 0 would be never
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return nil, err
	}
	rang := make(chan struct{})
	go func() {
		defer close(rang)
		var times [8]byte
		_, _ = os.NewFile(uintptr(fd), "timer").Read(times[:])
	}()
	return rang, nil
}
