package supervisor

import (
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
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
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	j, err := ReadJob(in)
	if err != nil {
		return 1 // nobody is there any more
	}
	// Children whose parents have ended become children of this process instead of init's, and
	// are found.
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, setChildSubreaper, 1, 0, 0, 0, 0); e != 0 {
		return tell(out, Outcome{Err: "become the subreaper: " + e.Error()})
	}
	// A core dump would have the secrets.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return tell(out, Outcome{Err: "forbid core dumps: " + err.Error()})
	}
	late, err := alarm()
	if err != nil {
		return tell(out, Outcome{Err: "take the timer: " + err.Error()})
	}
	alone := make(chan struct{})
	go func() { defer close(alone); _, _ = io.Copy(io.Discard, in) }()
	return tell(out, watch(j, late, alone))
}

// setChildSubreaper is PR_SET_CHILD_SUBREAPER, which package syscall does not name.
const setChildSubreaper = 36

func tell(out io.Writer, o Outcome) int {
	if _, err := out.Write(o.Encode()); err != nil {
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
		var w syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &w, syscall.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == agent && w.Exited():
			p.code <- w.ExitStatus()
		case pid == agent:
			p.code <- -1
		}
	}
}

// alarm rings when the timer does that this process was started with. The agent does not get
// the timer.
func alarm() (<-chan struct{}, error) {
	syscall.CloseOnExec(Timer)
	if err := syscall.SetNonblock(Timer, true); err != nil { // so that no thread waits for it
		return nil, err
	}
	rang := make(chan struct{})
	go func() {
		defer close(rang)
		var times [8]byte
		_, _ = os.NewFile(Timer, "timer").Read(times[:])
	}()
	return rang, nil
}
