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

// program is what is built of a folder of a module.
type program struct {
	module string
	// folder is that of the main package, in the module.
	folder     string
	name, what string
}

// controlPlane is the program of the module that FindSource finds.
func controlPlane(module string) program {
	return program{module, ".", "kube", "the control plane, Kubernetes"}
}

// Ensure returns the control plane's executable and builds it first if it
// isn't in the cache. Builders of the same one wait for each other.
func Ensure(ctx context.Context, progress io.Writer) (string, error) {
	module, err := FindSource()
	if err != nil {
		return "", err
	}
	return controlPlane(module).ensure(ctx, progress)
}

// EnsureNode returns the executable with kubelet and kube-proxy, and builds it first as Ensure does. It is
// a program of the control plane's module.
func EnsureNode(ctx context.Context, progress io.Writer) (string, error) {
	module, err := FindSource()
	if err != nil {
		return "", err
	}
	return program{module, "node", "node", "kubelet and kube-proxy, Kubernetes"}.ensure(ctx, progress)
}

// EnsureKubectl returns kubectl's executable, of the control plane's version, and builds it first
// as Ensure does. Its module is beside the control plane's.
func EnsureKubectl(ctx context.Context, progress io.Writer) (string, error) {
	module, err := FindSource()
	if err != nil {
		return "", err
	}
	return program{filepath.Join(filepath.Dir(module), "kubectl"), ".", "kubectl", "kubectl"}.ensure(ctx, progress)
}

// EnsureAgent returns the executable that is in the images of real machines, and builds it first as Ensure does. It
// is a program of the lab's module, in which the control plane's is.
func EnsureAgent(ctx context.Context, progress io.Writer) (string, error) {
	module, err := FindSource()
	if err != nil {
		return "", err
	}
	return program{filepath.Dir(module), "agent", "agent", "the agent of pods"}.ensure(ctx, progress)
}

func (p program) ensure(ctx context.Context, progress io.Writer) (string, error) {
	v, err := version(p.module)
	if err != nil {
		return "", err
	}
	dir, err := p.cacheDir(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, p.name)
	return path, gobuild.Once(ctx, path, p.what+" "+v, progress, func(unfinished string) error {
		return gobuild.Run(ctx, p.module, p.buildArgs(unfinished, v)...)
	})
}

var required = regexp.MustCompile(`k8s\.io/(?:kubernetes v1|kubectl v0|api v0)(\.[0-9]+\.[0-9]+)\s`)

// version is that of Kubernetes in a module's go.mod, which the executable is to report. Without it
// the executable would report v0.0.0, and clients that look at the version would misbehave.
func version(module string) (string, error) {
	text, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("find the version of Kubernetes: %w", err)
	}
	m := required.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("find the version of Kubernetes: %s requires none of its modules", filepath.Join(module, "go.mod"))
	}
	return "v1" + string(m[1]), nil
}

// Cached says if Ensure would return at once.
func Cached(ctx context.Context) (bool, error) {
	module, err := FindSource()
	if err != nil {
		return false, err
	}
	p := controlPlane(module)
	dir, err := p.cacheDir(ctx)
	if err != nil {
		return false, err
	}
	return gobuild.Built(filepath.Join(dir, p.name)), nil
}

func (p program) cacheDir(ctx context.Context) (string, error) {
	name, err := p.key(ctx)
	if err != nil {
		return "", err
	}
	return gobuild.Cache("lab", name)
}

func (p program) buildArgs(out, version string) []string {
	stamp := "-X k8s.io/component-base/version.gitVersion=" + version
	return []string{"build", "-trimpath", "-buildvcs=false", "-gcflags", "all=-dwarf=false", "-ldflags", "-s -w " + stamp, "-o", out, "./" + p.folder}
}
