package gobuild

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nodefence/nodefence/test/lab/filelock"
)

// Built tells whether a file is in the cache.
func Built(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Once builds a file of the cache if the file does not exist yet, and returns whether it
// did. Builders of the same file wait for each other. A file in the cache is complete: it
// is built elsewhere, under a lock, and the remains of a build that was killed are removed.
func Once(ctx context.Context, path, what string, progress io.Writer, build func(unfinished string) error) error {
	if Built(path) {
		return nil
	}
	defer Report(progress, "building "+what+": needed once, takes 5 minutes or so on two idle cores")()
	release, err := filelock.Take(ctx, filepath.Join(filepath.Dir(path), "lock"))
	if err != nil {
		return fmt.Errorf("wait for another build of %s: %w", what, err)
	}
	defer release()
	if Built(path) {
		return nil
	}
	unfinished := path + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("remove unfinished build: %w", err)
	}
	defer func() { _ = os.RemoveAll(unfinished) }()
	if err := build(unfinished); err != nil {
		return fmt.Errorf("build %s: %w", what, err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("keep %s: %w", what, err)
	}
	return nil
}

// Run runs Go in a folder, as Command does, and returns its output if it fails.
func Run(ctx context.Context, dir string, args ...string) error {
	out, err := Command(ctx, dir, args...).CombinedOutput()
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}
