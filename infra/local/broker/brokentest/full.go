//go:build linux

package brokentest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Full makes every file below dir that this process has open refuse every write, as a full
// disk does. A file that is opened later can be written. Full returns the number of files.
func Full(dir string) (spoilt int, err error) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = full.Close() }()
	handles, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0, err
	}
	for _, h := range handles {
		to, err := os.Readlink(filepath.Join("/proc/self/fd", h.Name()))
		if err != nil || !strings.HasPrefix(to, filepath.Clean(dir)+"/") || filepath.Base(to) == "lock" {
			continue
		}
		n, err := strconv.Atoi(h.Name())
		if err != nil {
			return spoilt, err
		}
		if err := syscall.Dup3(int(full.Fd()), n, syscall.O_CLOEXEC); err != nil {
			return spoilt, fmt.Errorf("spoil %s: %w", to, err)
		}
		spoilt++
	}
	return spoilt, nil
}
