package labdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// maxSocketPath is what fits into a unix socket's address (108 bytes with the
// final zero), less the longest name that we append.
const maxSocketPath = 107 - len("/machines.sock")

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`)

// CheckName refuses a name that can't be a folder's name.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("bad name %q: use 1 to 32 of a-z, 0-9 and \"-\", beginning and ending with a letter or digit", name)
	}
	return nil
}

// Root returns the folder that holds all labs of this user, made if need be.
func Root() (string, error) {
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" {
		base = os.TempDir()
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return "", fmt.Errorf("find folder for labs: %w", err)
	}
	root := filepath.Join(base, fmt.Sprintf("nodefence-lab-%d", os.Getuid()))
	if err := os.Mkdir(root, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make folder for labs: %w (set XDG_RUNTIME_DIR or TMPDIR to a folder that you may write)", err)
	}
	return root, checkPrivate(root)
}

// checkPrivate matters in /tmp, where anyone may have made the folder first.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("check folder for labs: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("check folder for labs: %s must be a folder that is yours alone (mode 0700); remove it or set XDG_RUNTIME_DIR", dir)
	}
	return nil
}

// open returns the folder of a lab, which need not exist.
func open(name string) (Dir, error) {
	if err := CheckName(name); err != nil {
		return Dir{}, err
	}
	root, err := Root()
	if err != nil {
		return Dir{}, err
	}
	path := filepath.Join(root, name)
	if len(path) > maxSocketPath {
		return Dir{}, fmt.Errorf("path %s is too long for sockets in it: use a shorter name, or set XDG_RUNTIME_DIR to a shorter folder", path)
	}
	return Dir{Path: path}, nil
}
