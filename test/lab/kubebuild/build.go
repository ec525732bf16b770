package kubebuild

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/nodefence/nodefence/test/lab/gobuild"
)

// Ensure returns the control plane's executable and builds it first if it
// isn't in the cache. Builders of the same one wait for each other.
func Ensure(ctx context.Context, progress io.Writer) (string, error) {
	source, err := FindSource()
	if err != nil {
		return "", err
	}
	return once(ctx, source, "kube", "the control plane, Kubernetes", progress)
}

// EnsureKubectl returns kubectl's executable, of the control plane's version, and builds it first
// as Ensure does. Its module is beside the control plane's.
func EnsureKubectl(ctx context.Context, progress io.Writer) (string, error) {
	controlPlane, err := FindSource()
	if err != nil {
		return "", err
	}
	return once(ctx, filepath.Join(filepath.Dir(controlPlane), "kubectl"), "kubectl", "kubectl", progress)
}

func once(ctx context.Context, source, name, what string, progress io.Writer) (string, error) {
	v, err := version(source)
	if err != nil {
		return "", err
	}
	dir, err := cacheDir(ctx, source)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, gobuild.Once(ctx, path, what+" "+v, progress, func(unfinished string) error {
		return gobuild.Run(ctx, source, buildArgs(unfinished, v)...)
	})
}

var required = regexp.MustCompile(`k8s\.io/(?:kubernetes v1|kubectl v0)(\.[0-9]+\.[0-9]+)\s`)

// version is that of Kubernetes in a module's go.mod, which the executable is to report. Without it
// the executable would report v0.0.0, and clients that look at the version would misbehave.
func version(source string) (string, error) {
	text, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("find the version of Kubernetes: %w", err)
	}
	m := required.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("find the version of Kubernetes: %s requires neither k8s.io/kubernetes nor k8s.io/kubectl", filepath.Join(source, "go.mod"))
	}
	return "v1" + string(m[1]), nil
}

// Cached says if Ensure would return at once.
func Cached(ctx context.Context) (bool, error) {
	source, err := FindSource()
	if err != nil {
		return false, err
	}
	dir, err := cacheDir(ctx, source)
	if err != nil {
		return false, err
	}
	return gobuild.Built(filepath.Join(dir, "kube")), nil
}

func cacheDir(ctx context.Context, source string) (string, error) {
	name, err := key(ctx, source)
	if err != nil {
		return "", err
	}
	return gobuild.Cache("lab", name)
}

func buildArgs(out, version string) []string {
	stamp := "-X k8s.io/component-base/version.gitVersion=" + version
	return []string{"build", "-trimpath", "-buildvcs=false", "-gcflags", "all=-dwarf=false", "-ldflags", "-s -w " + stamp, "-o", out, "."}
}
