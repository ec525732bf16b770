package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/nodefence/nodefence/infra/release/archive"
	"github.com/nodefence/nodefence/infra/release/manifests"
)

// TestAnImageRunsItsProgram: what ko packs for this machine runs when it is unpacked, as nobody, with
// the CA certificates of the base. A second build has the same digest.
func TestAnImageRunsItsProgram(t *testing.T) {
	b := build{root: "../../..", out: t.TempDir(), platforms: "linux/" + runtime.GOARCH, images: manifests.Images{Registry: "registry.example.com/nodefence", Version: "v0.1.0"}}
	certificates := filepath.Join(t.TempDir(), "ca.crt")
	must(t, os.WriteFile(certificates, []byte("certificates"), 0o600))
	var digests []string
	for range 2 {
		served, err := serveBase(certificates, []string{b.platforms})
		must(t, err)
		b.base = served.image
		digest, err := b.one(t.Context(), "nodefence-kdump", "./sources/kdump/cmd/nodefence-kdump")
		served.close()
		must(t, err)
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("two builds have digests %v", digests)
	}
	if _, err := os.Stat(filepath.Join(b.out, "nodefence-kdump-linux-"+runtime.GOARCH+".spdx.json")); err != nil {
		t.Error(err)
	}
	packed, err := os.ReadFile(filepath.Join(b.out, "nodefence-kdump.oci.tar"))
	must(t, err)
	image := untar(t, packed)
	digest := digests[0]
	blob := func(digest string, into any) []byte {
		text, is := image["blobs/sha256/"+strings.TrimPrefix(digest, "sha256:")]
		if !is {
			t.Fatalf("the archive has no %s", digest)
		}
		if into != nil {
			must(t, json.Unmarshal(text, into))
		}
		return text
	}
	var m struct {
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	blob(digest, &m)
	var c struct {
		Config struct {
			User       string
			Entrypoint []string
		}
	}
	blob(m.Config.Digest, &c)
	files := archive.Files{}
	for _, l := range m.Layers {
		z, err := gzip.NewReader(bytes.NewReader(blob(l.Digest, nil)))
		must(t, err)
		plain, err := io.ReadAll(z)
		must(t, err)
		for name, text := range untar(t, plain) {
			files[strings.TrimPrefix(name, "/")] = text
		}
	}
	if d := cmp.Diff([]string{"65532:65532", "/ko-app/nodefence-kdump", "certificates"}, []string{c.Config.User, strings.Join(c.Config.Entrypoint, " "), string(files["etc/ssl/certs/ca-certificates.crt"])}); d != "" {
		t.Error(d)
	}
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, files["ko-app/nodefence-kdump"], 0o700))
	out, err := exec.CommandContext(t.Context(), program, "--help").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "nodefence-kdump hears") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestTheBaseHasADigest: a tag may mean another image at the next build.
func TestTheBaseHasADigest(t *testing.T) {
	err := run(t.Context(), []string{"-version", "v0.1.0", "-base", "gcr.io/distroless/static"})
	if err == nil || err.Error() != "the base image is gcr.io/distroless/static, without a digest: write name@sha256:<digest>" {
		t.Error(err)
	}
}

// TestTheUserIsANumber, and not root's: a kubelet starts no other image in a pod with runAsNonRoot.
func TestTheUserIsANumber(t *testing.T) {
	for name, is := range map[string]bool{"65532:65532": true, "65532": true, "1": true, "": false, "0": false, "0:65532": false, "root": false, "nonroot": false, "-1": false} {
		image, err := mutate.Config(empty.Image, v1.Config{User: name})
		must(t, err)
		folder := t.TempDir()
		index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image})})
		_, err = layout.Write(folder, index)
		must(t, err)
		if err := runsAsNobody(folder); (err == nil) != is {
			t.Errorf("user %q: %v", name, err)
		}
	}
}

func untar(t *testing.T, packed []byte) archive.Files {
	t.Helper()
	files, err := archive.Read(packed)
	must(t, err)
	return files
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
