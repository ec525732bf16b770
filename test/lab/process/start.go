package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Spec says what to start.
type Spec struct {
	Path string
	Args []string
	// Dir is the working directory of the process.
	Dir string
	// Env is added to the environment that we have.
	Env []string
	// Log is the file that gets what the process prints.
	Log string
	// Inherit are open files that the process gets from descriptor 3 on.
	Inherit []*os.File
}

// Started is a process that we are the parent of.
type Started struct {
	ID ID
	// Ended sends why the process ended, once.
	Ended <-chan error
}

// Start runs a process in a session of its own, so that it outlives us and a
// Ctrl-C in our terminal doesn't reach it.
func Start(spec Spec) (Started, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Started{}, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir, cmd.Env = spec.Dir, append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = spec.Inherit
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Started{}, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	// As long as nobody has waited for it, even a process that has ended is in
	// /proc under this PID.
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return Started{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return Started{ID: id, Ended: ended}, nil
}
