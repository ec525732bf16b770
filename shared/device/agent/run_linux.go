package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent/supervisor"
)

const (
	// farewell is the part of the caller's time in which the supervisor ends an agent and reports
	// that.
	farewell = 250 * time.Millisecond
	// stuck is how long the driver waits for a supervisor beyond that. A process within a system
	// call that can't be interrupted is killed when the call is over, before it does anything
	// else.
	stuck = 5 * time.Second
)

// run lets a supervisor run an agent within the caller's time. It returns when nothing runs any
// more.
func run(ctx context.Context, j job) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	timer, err := alarm(ctx)
	if err != nil {
		return outcome{}, fmt.Errorf("set a timer: %w", err)
	}
	defer func() { _ = timer.Close() }()
	cmd := exec.Command("/proc/self/exe") // the program that runs, even if its file was replaced
	cmd.Args, cmd.Env, cmd.Dir = []string{supervisor.Name}, []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that a terminal's Ctrl-C does not reach it
	cmd.ExtraFiles = []*os.File{timer}                   // the first of them is supervisor.Timer
	var said bytes.Buffer
	cmd.Stdout = &said
	line, err := cmd.StdinPipe()
	if err != nil {
		return outcome{}, err
	}
	if err := cmd.Start(); err != nil {
		return outcome{}, fmt.Errorf("start the supervisor: %w", err)
	}
	hangUp := context.AfterFunc(ctx, func() { _ = line.Close() })
	defer hangUp()
	_, _ = io.Copy(line, bytes.NewReader(j.Encode())) // if it is not there to read them, its end shows that
	if err := wait(ctx, cmd); err != nil {
		return outcome{}, err
	}
	o, err := supervisor.ReadOutcome(&said)
	if err != nil {
		return outcome{}, fmt.Errorf("read what the supervisor says: %w", err)
	}
	return o, nil
}

func wait(ctx context.Context, cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(stuck):
			return errors.New("it was killed, and is not gone yet")
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("the supervisor ended: %w", err)
	}
	return nil
}

// alarm is a timer that rings when the agent must be gone, by the clock that also runs while the
// machine sleeps. What is left of the claim counts, too: the machine may have slept since the call
// began, which the context's deadline does not count (S7: one call at a time).
func alarm(ctx context.Context) (*os.File, error) {
	left, bounded := device.Left(ctx)
	if !bounded {
		left = longest
	}
	left -= min(farewell, left/4)
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	timer := os.NewFile(uintptr(fd), "timer")
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(left.Nanoseconds(), 1))} // 0 would be never
	if err := unix.TimerfdSettime(fd, 0, &spec, nil); err != nil {
		_ = timer.Close()
		return nil, err
	}
	return timer, nil
}
