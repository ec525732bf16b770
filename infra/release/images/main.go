// Command images builds the images of a release by ko, and writes each as an OCI archive with the
// bill of materials that ko makes (SPDX), and for each platform as `docker load` reads it. It pushes
// nothing: `skopeo copy` or `crane push` does. If the registry is known, an import of an archive gives
// the image its name.
//
// An image whose user is root, or has a name and no number, is refused: pods with runAsNonRoot that
// name no user, as on OpenShift, would not start.
//
// What a reader must not get wrong: without a base image of yours the base is the one of
// infra/knative/Dockerfile: nothing but this machine's CA certificates. ko takes a base from a
// registry alone, so one is served on loopback while ko runs.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/nodefence/nodefence/infra/release/archive"
	"github.com/nodefence/nodefence/infra/release/manifests"
)

// ko is run from its module.
const ko = "github.com/google/ko@v0.19.1"

// programs are the images, and the packages of their programs.
var programs = [][2]string{
	{"nodefence", "./functions/cmd/nodefence"},
	{"nodefence-local", "./infra/local/cmd/nodefence-local"},
	{"nodefence-source", "./sources/apiserver/cmd/nodefence-source"},
	{"nodefence-kdump", "./sources/kdump/cmd/nodefence-kdump"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// build is one run.
type build struct {
	root, out, base, certificates, platforms string
	images                                   manifests.Images
}

func run(ctx context.Context, args []string) error {
	var b build
	fs := flag.NewFlagSet("images", flag.ContinueOnError)
	fs.StringVar(&b.root, "root", "../..", "`folder` of the repository")
	fs.StringVar(&b.out, "out", "../../dist", "`folder` that is written into")
	fs.StringVar(&b.base, "base", "", "base `image`, by digest; without it nothing but the CA certificates")
	fs.StringVar(&b.certificates, "certificates", "/etc/ssl/certs/ca-certificates.crt", "`file` with the CA certificates of a base without a name")
	fs.StringVar(&b.platforms, "platforms", "linux/amd64,linux/arm64", "`platforms`, by commas")
	fs.StringVar(&b.images.Version, "version", "", "the release's `version`, such as v0.1.0: the tag of its images")
	fs.StringVar(&b.images.Registry, "registry", "", "`repository` under which they are to be pushed")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := b.images.Valid(); err != nil {
		return err
	}
	if b.base != "" && !strings.Contains(b.base, "@sha256:") {
		return fmt.Errorf("the base image is %s, without a digest: write name@sha256:<digest>", b.base)
	}
	if b.base == "" {
		served, err := serveBase(b.certificates, strings.Split(b.platforms, ","))
		if err != nil {
			return fmt.Errorf("serve a base image: %w", err)
		}
		defer served.close()
		b.base = served.image
	}
	return b.all(ctx)
}

// all writes each image, and a list of them by digest.
func (b build) all(ctx context.Context) error {
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	var list strings.Builder
	for _, p := range programs {
		digest, err := b.one(ctx, p[0], p[1])
		if err != nil {
			return fmt.Errorf("build image %s: %w", p[0], err)
		}
		fmt.Fprintf(&list, "%s@%s\n", b.images.Of(p[0]), digest)
	}
	fmt.Print(list.String())
	return os.WriteFile(filepath.Join(b.out, "images.txt"), []byte(list.String()), 0o644)
}

// one builds one image, and packs it and its bills of materials.
func (b build) one(ctx context.Context, program, pkg string) (digest string, err error) {
	work, err := os.MkdirTemp("", "nodefence-image-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	layout, bills := filepath.Join(work, "image"), filepath.Join(work, "sbom")
	cmd := exec.CommandContext(ctx, "go", "run", ko, "build", "--push=false", "--oci-layout-path", layout, "--sbom-dir", bills, "--base-import-paths", "--platform", b.platforms, "--tags", b.images.Version, pkg)
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "KO_DEFAULTBASEIMAGE="+b.base, "KO_DOCKER_REPO="+b.repository())
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	_, digest, found := strings.Cut(strings.TrimSpace(string(out)), "@")
	if !found {
		return "", fmt.Errorf("ko says no digest: %s", out)
	}
	if err := runsAsNobody(layout); err != nil {
		return "", err
	}
	return digest, b.pack(program, layout, bills)
}

func (b build) repository() string {
	if b.images.Registry == "" {
		return "name-yours.invalid"
	}
	return b.images.Registry
}

func (b build) pack(program, layout, bills string) error {
	if b.images.Registry != "" {
		if err := b.name(program, layout); err != nil {
			return err
		}
	}
	files, err := read(layout)
	if err != nil {
		return err
	}
	packed, err := archive.Tar(files)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.out, program+".oci.tar"), packed, 0o644); err != nil {
		return err
	}
	all, err := read(bills)
	if err != nil {
		return err
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(b.out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// name names the image in its layout, and writes the archives for `docker load`.
func (b build) name(program, layout string) error {
	image := b.images.Of(program)
	for _, platform := range strings.Split(b.platforms, ",") {
		var packed bytes.Buffer
		if err := writeDocker(&packed, layout, platform, image); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.out, dockerArchive(program, platform)), packed.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nameLayout(layout, image)
}

func read(dir string) (archive.Files, error) {
	files := archive.Files{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	return files, err
}
