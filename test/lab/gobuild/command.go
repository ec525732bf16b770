package gobuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Command runs Go in a folder with the folder's module only: a workspace or flags of the user's
// would build something other than the key says.
func Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	// The compilers are children of go, and would continue when it is interrupted.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Platform is which Go builds in a folder, and for what.
func Platform(ctx context.Context, dir string) (string, error) {
	out, err := Command(ctx, dir, "env", "GOVERSION", "GOOS", "GOARCH").Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("ask for Go's version: %w: install Go and put it into PATH", err)
	case err != nil:
		return "", fmt.Errorf("ask for Go's version in %s: %w", dir, err)
	}
	return string(out), nil
}
