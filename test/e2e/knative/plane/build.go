package plane

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nodefence/nodefence/test/lab/gobuild"
	"github.com/nodefence/nodefence/test/rig"
)

// sourcePath is the module that says which Knative is built, and with which libraries.
const sourcePath = "test/e2e/knative/dataplane"

// parallel compilers are few: whoever tests usually has something else running.
const parallel = "2"

// build returns the folder with Knative's programs, and compiles them first if
// they aren't in the cache. Builders of the same ones wait for each other.
func build(ctx context.Context, progress io.Writer) (string, error) {
	source, err := source()
	if err != nil {
		return "", err
	}
	cache, err := cacheDir(ctx, source)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bin")
	return dir, gobuild.Once(ctx, dir, "Knative's programs", progress, func(unfinished string) error {
		if err := os.Mkdir(unfinished, 0o700); err != nil {
			return err
		}
		return gobuild.Run(ctx, source, buildArgs(unfinished)...)
	})
}

func source() (string, error) {
	root, err := rig.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, sourcePath), nil
}

// cacheDir is named by all that goes into the build, so that what lies there is
// never stale.
func cacheDir(ctx context.Context, source string) (string, error) {
	platform, err := gobuild.Platform(ctx, source)
	if err != nil {
		return "", err
	}
	key, err := gobuild.Key(strings.TrimSpace(platform), buildArgs("out"), filepath.Join(source, "go.mod"), filepath.Join(source, "go.sum"))
	if err != nil {
		return "", err
	}
	return gobuild.Cache("knative", key)
}

func buildArgs(dir string) []string {
	args := []string{"build", "-p", parallel, "-trimpath", "-buildvcs=false", "-gcflags", "all=-dwarf=false", "-ldflags", "-s -w", "-o", dir + "/"}
	for _, p := range programs {
		args = append(args, p.source)
	}
	return args
}

func ask(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := gobuild.Command(ctx, dir, args...).Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w", strings.Join(args, " "), dir, err)
	}
	return strings.TrimSpace(string(out)), nil
}
