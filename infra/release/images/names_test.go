package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/nodefence/nodefence/infra/release/archive"
	"github.com/nodefence/nodefence/infra/release/manifests"
)

const tried = "registry.example.com/nodefence/nodefence-local:v0.1.0"

// packed are the archives of an image for two platforms, as a release writes them: a layout of ko's has one index of
// them.
func packed(t *testing.T) (oci string, docker map[string]string) {
	t.Helper()
	platforms := []string{"linux/amd64", "linux/arm64"}
	files, err := archive.Tar(archive.Files{"program": []byte("program")})
	must(t, err)
	inner, err := baseIndex(files, platforms)
	must(t, err)
	folder, bills := t.TempDir(), t.TempDir()
	_, err = layout.Write(folder, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: inner}))
	must(t, err)
	b := build{out: t.TempDir(), platforms: strings.Join(platforms, ","), images: manifests.Images{Registry: "registry.example.com/nodefence", Version: "v0.1.0"}}
	must(t, b.pack("nodefence-local", folder, bills))
	docker = map[string]string{}
	for _, p := range platforms {
		docker[p] = filepath.Join(b.out, dockerArchive("nodefence-local", p))
	}
	return filepath.Join(b.out, "nodefence-local.oci.tar"), docker
}

// TestAnArchiveHasTheImagesName: as go-containerregistry reads it, in each format, for each platform.
func TestAnArchiveHasTheImagesName(t *testing.T) {
	oci, docker := packed(t)
	text, err := os.ReadFile(oci)
	must(t, err)
	folder := t.TempDir()
	must(t, archive.Untar(text, folder))
	index, err := layout.ImageIndexFromPath(folder)
	must(t, err)
	m, err := index.IndexManifest()
	must(t, err)
	want := map[string]string{imageName: tried, refName: "v0.1.0"}
	if len(m.Manifests) != 1 || cmp.Diff(want, m.Manifests[0].Annotations) != "" {
		t.Errorf("the index has %+v", m.Manifests)
	}
	tag, err := name.NewTag(tried)
	must(t, err)
	for platform, file := range docker {
		image, err := tarball.ImageFromPath(file, &tag)
		must(t, err)
		c, err := image.ConfigFile()
		must(t, err)
		if got := c.OS + "/" + c.Architecture; got != platform {
			t.Errorf("%s is for %s", file, got)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Errorf("%s has layers %v, %v", file, layers, err)
		}
	}
}

// TestContainerdImportsByName: `ctr images import` of each archive creates the image under its name, and keeps every
// platform of the OCI archive.
func TestContainerdImportsByName(t *testing.T) {
	ctr, address := containerd(t)
	oci, docker := packed(t)
	for _, file := range []string{oci, docker["linux/amd64"]} {
		ctr("images", "import", "--all-platforms", "--no-unpack", file)
		if got := strings.TrimSpace(ctr("images", "ls", "-q")); got != tried {
			t.Errorf("%s is imported as %q, want %s (%s)", file, got, tried, address)
		}
		if said := ctr("images", "ls"); file == oci && (!strings.Contains(said, "linux/amd64") || !strings.Contains(said, "linux/arm64")) {
			t.Errorf("%s has platforms %s", file, said)
		}
		ctr("images", "rm", tried)
	}
}

// containerd runs one for the test, and returns its client. The test is skipped where none is installed, or where the
// user is not root.
func containerd(t *testing.T) (ctr func(args ...string) string, address string) {
	t.Helper()
	if _, err := exec.LookPath("containerd"); err != nil || os.Getuid() != 0 {
		t.Skip("containerd is not installed, or the user is not root")
	}
	dir, err := os.MkdirTemp("", "ctr") // a socket's path is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address = filepath.Join(dir, "s")
	config := filepath.Join(dir, "config.toml")
	must(t, os.WriteFile(config, []byte("version = 2\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n"), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	var said bytes.Buffer
	daemon := exec.CommandContext(ctx, "containerd", "--config", config, "--root", filepath.Join(dir, "root"), "--state", filepath.Join(dir, "state"), "--address", address)
	daemon.Stdout, daemon.Stderr = &said, &said
	daemon.Cancel = func() error { return daemon.Process.Signal(os.Interrupt) }
	daemon.WaitDelay = 10 * time.Second
	must(t, daemon.Start())
	t.Cleanup(func() { stop(); _ = daemon.Wait() })
	ask := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "ctr", append([]string{"--address", address, "--connect-timeout", "30s", "--namespace", "test"}, args...)...).CombinedOutput()
		return string(out), err
	}
	_, err = ask("version") // waits for the socket
	if err != nil {
		stop()
		t.Fatalf("containerd does not answer: %v\n%s", err, said.String())
	}
	return func(args ...string) string {
		t.Helper()
		out, err := ask(args...)
		if err != nil {
			t.Fatalf("ctr %v: %v\n%s", args, err, out)
		}
		return out
	}, address
}
