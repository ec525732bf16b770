package kubebuild

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nodefence/nodefence/test/lab/filelock"
	"github.com/nodefence/nodefence/test/lab/gobuild"
)

// KubernetesVersion is what the executable says that it is. Without a stamp it
// would call itself v0.0.0, and clients that look at it would misbehave.
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
	if built(path) {
		return path, nil
	}
	say := gobuild.Report(progress, "building the control plane (Kubernetes "+KubernetesVersion+"): needed once, takes 8 minutes or so on two idle cores")
	defer say()
	release, err := filelock.Take(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("wait for another build: %w", err)
	}
	defer release()
	if built(path) {
		return path, nil
	}
	return path, build(ctx, source, path)
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
	return built(filepath.Join(dir, "kube")), nil
}

func cacheDir(ctx context.Context, source string) (string, error) {
	name, err := key(ctx, source)
	if err != nil {
		return "", err
	}
	return gobuild.Cache("lab", name)
}

func built(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func buildArgs(out string) []string {
	stamp := "-X k8s.io/component-base/version.gitVersion=" + KubernetesVersion
	return []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w " + stamp, "-o", out, "."}
}

func build(ctx context.Context, source, path string) error {
	// Under the lock there is no other builder, and a name of its own spares
	// us the remains of one that was killed: the next one overwrites them.
	unfinished := path + ".unfinished"
	defer os.Remove(unfinished)

	var output bytes.Buffer
	cmd := gobuild.Command(ctx, source, buildArgs(unfinished)...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build control plane: %w", ctx.Err())
		}
		return fmt.Errorf("build control plane: %w\n%s", err, bytes.TrimSpace(output.Bytes()))
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("keep control plane: %w", err)
	}
	return nil
}
