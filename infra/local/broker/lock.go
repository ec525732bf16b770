//go:build unix

package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockName is the file whose lock reserves a folder.
const lockName = "lock"

// errNotOurs: another process has the folder, and nothing in it is touched.
var errNotOurs = errors.New("another process or broker has this folder")

// lock reserves the folder for this process. The operating system releases the lock when
// the process ends, however it ends.
func lock(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f.Close, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: %w", path, errNotOurs)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}
