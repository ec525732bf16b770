package kubebuild

import (
	"context"
	"io"
	"path/filepath"

	"github.com/nodefence/nodefence/test/lab/gobuild"
)

// KubernetesVersion is the version that the executable reports. Without it the executable would
// report v0.0.0, and clients that look at the version would misbehave.
const KubernetesVersion = "v1.36.3"

// Ensure returns the control plane's executable and builds it first if it
// isn't in the cache. Builders of the same one wait for each other.
func Ensure(ctx context.Context, progress io.Writer) (string, error) {
	source, err := FindSource()
	if err != nil {
		return "", err
	}
	dir, err := cacheDir(ctx, source)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "kube")
	return path, gobuild.Once(ctx, path, "the control plane (Kubernetes "+KubernetesVersion+")", progress, func(unfinished string) error {
		return gobuild.Run(ctx, source, buildArgs(unfinished)...)
	})
}

// EnsureKubectl returns kubectl's executable, of the control plane's version, and builds it first
// as Ensure does. Its module is beside the control plane's.
func EnsureKubectl(ctx context.Context, progress io.Writer) (string, error) {
	controlPlane, err := FindSource()
	if err != nil {
		return "", err
	}
	source := filepath.Join(filepath.Dir(controlPlane), "kubectl")
	dir, err := cacheDir(ctx, source)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "kubectl")
	return path, gobuild.Once(ctx, path, "kubectl "+KubernetesVersion, progress, func(unfinished string) error {
		return gobuild.Run(ctx, source, buildArgs(unfinished)...)
	})
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

func buildArgs(out string) []string {
	stamp := "-X k8s.io/component-base/version.gitVersion=" + KubernetesVersion
	return []string{"build", "-trimpath", "-buildvcs=false", "-gcflags", "all=-dwarf=false", "-ldflags", "-s -w " + stamp, "-o", out, "."}
}
