package kubebuild

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/test/lab/gobuild"
)

// SourceVariable overrides where the control plane's module is looked for.
const SourceVariable = "NODEFENCE_LAB_SRC"

const modulePath = "test/lab/controlplane"

// FindSource returns the folder of the control plane's module: what the
// variable says, or the first found above the executable or the working folder.
func FindSource() (string, error) {
	if dir := os.Getenv(SourceVariable); dir != "" {
		if !isModule(dir) {
			return "", fmt.Errorf("find source: %s=%s has no go.mod: let it name the folder %s of a checkout", SourceVariable, dir, modulePath)
		}
		return filepath.Abs(dir)
	}
	for _, start := range startingPoints() {
		if dir, ok := findAbove(start); ok {
			return dir, nil
		}
	}
	return "", fmt.Errorf("find source: no %s above the executable or the working folder: run this inside a checkout, or let %s name that folder", modulePath, SourceVariable)
}

func startingPoints() []string {
	var starts []string
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		starts = append(starts, filepath.Dir(exe))
	}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	return starts
}

func findAbove(dir string) (string, bool) {
	for {
		if candidate := filepath.Join(dir, modulePath); isModule(candidate) {
			return candidate, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

func isModule(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil && info.Mode().IsRegular()
}

// key names the build of a program by everything that goes into it.
func (p program) key(ctx context.Context) (string, error) {
	platform, err := gobuild.Platform(ctx, p.module)
	if err != nil {
		return "", err
	}
	files, err := p.sourceFiles()
	if err != nil {
		return "", err
	}
	v, err := version(p.module)
	if err != nil {
		return "", err
	}
	return gobuild.Key(platform, p.buildArgs("out", v), files...)
}

func (p program) sourceFiles() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(p.module, p.folder, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list source: %w", err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	if len(files) == 0 {
		return nil, fmt.Errorf("list source: %s has none", filepath.Join(p.module, p.folder))
	}
	slices.Sort(files)
	return append(files, filepath.Join(p.module, "go.mod"), filepath.Join(p.module, "go.sum")), nil
}
