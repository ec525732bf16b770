package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	helm "helm.sh/helm/v3/pkg/registry"

	"github.com/nodefence/nodefence/infra/release/archive"
)

// release is a folder as `make release` writes dist/, with the address of a registry.
type release struct {
	dist, registry string
	images         map[string]v1.ImageIndex
}

// newRelease writes a release with images of random bytes for two platforms, and a chart that Helm accepts.
func newRelease(t *testing.T, registry string, programs ...string) *release {
	t.Helper()
	r := &release{dist: t.TempDir(), registry: registry, images: map[string]v1.ImageIndex{}}
	var list strings.Builder
	for _, program := range programs {
		index, err := random.Index(64, 1, 2)
		must(t, err)
		digest, err := index.Digest()
		must(t, err)
		r.images[program] = index
		r.writeImage(t, program, index)
		fmt.Fprintf(&list, "%s/nodefence/%s:v0.1.0@%s\n", registry, program, digest)
	}
	r.writeFile(t, "images.txt", []byte(list.String()))
	r.writeChart(t, "a release")
	return r
}

func (r *release) writeImage(t *testing.T, program string, index v1.ImageIndex) {
	t.Helper()
	folder, files := t.TempDir(), archive.Files{}
	_, err := layout.Write(folder, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index}))
	must(t, err)
	must(t, filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err == nil {
			files[name], err = os.ReadFile(path)
		}
		return err
	}))
	packed, err := archive.Tar(files)
	must(t, err)
	r.writeFile(t, program+".oci.tar", packed)
}

func (r *release) writeChart(t *testing.T, description string) {
	t.Helper()
	packed, err := archive.TarGz(archive.Files{"nodefence/Chart.yaml": []byte("apiVersion: v2\nname: nodefence\nversion: 0.1.0\ndescription: " + description + "\n")})
	must(t, err)
	r.writeFile(t, "nodefence-0.1.0.tgz", packed)
}

func (r *release) writeFile(t *testing.T, name string, text []byte) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(r.dist, name), text, 0o600))
}

func (r *release) runPublish(t *testing.T) (told string, err error) {
	t.Helper()
	var b bytes.Buffer
	err = run(t.Context(), []string{"-dist", r.dist}, &b)
	return b.String(), err
}

// digestIn returns the digest of a tag in the registry; empty if the registry does not have the tag.
func (r *release) digestIn(t *testing.T, repository string) string {
	t.Helper()
	tag, err := name.NewTag(r.registry + "/" + repository)
	must(t, err)
	d, err := remote.Get(tag)
	if isMissing(err) {
		return ""
	}
	must(t, err)
	return d.Digest.String()
}

func serveRegistry(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// TestARegistryHasWhatWasReleased: the registry has each image for all platforms, and Helm pulls the chart. A second run
// pushes nothing.
func TestARegistryHasWhatWasReleased(t *testing.T) {
	r := newRelease(t, serveRegistry(t), "nodefence", "nodefence-local")
	told, err := r.runPublish(t)
	must(t, err)
	if n := strings.Count(told, ": pushed\n"); n != 3 {
		t.Errorf("%d were pushed, want 3:\n%s", n, told)
	}
	for program, index := range r.images {
		want, err := index.Digest()
		must(t, err)
		if got := r.digestIn(t, "nodefence/"+program+":v0.1.0"); got != want.String() {
			t.Errorf("%s is %s, want %s", program, got, want)
		}
	}
	client, err := helm.NewClient(helm.ClientOptPlainHTTP())
	must(t, err)
	pulled, err := client.Pull(r.registry + "/nodefence/charts/nodefence:0.1.0")
	must(t, err)
	packed, err := os.ReadFile(filepath.Join(r.dist, "nodefence-0.1.0.tgz"))
	must(t, err)
	if !bytes.Equal(pulled.Chart.Data, packed) {
		t.Error("Helm pulls another chart than the one of the release")
	}
	var m struct{ Annotations map[string]string }
	must(t, json.Unmarshal(pulled.Manifest.Data, &m))
	if at := m.Annotations["org.opencontainers.image.created"]; at != created {
		t.Errorf("the chart was created at %s, want %s: another run would push other bytes", at, created)
	}
	first, err := os.ReadFile(filepath.Join(r.dist, "published.txt"))
	must(t, err)
	if n := strings.Count(string(first), "@sha256:"); n != 3 {
		t.Errorf("published.txt has %d lines with a digest, want 3:\n%s", n, first)
	}
	told, err = r.runPublish(t)
	must(t, err)
	if n := strings.Count(told, ": is there already\n"); n != 3 {
		t.Errorf("the second run found %d, want 3:\n%s", n, told)
	}
	again, err := os.ReadFile(filepath.Join(r.dist, "published.txt"))
	must(t, err)
	if d := cmp.Diff(string(first), string(again)); d != "" {
		t.Error(d)
	}
}

// TestARunThatWasCutOffIsRepeated: a second run pushes the missing image and the missing chart.
func TestARunThatWasCutOffIsRepeated(t *testing.T) {
	r := newRelease(t, serveRegistry(t), "nodefence", "nodefence-local")
	tag, err := name.NewTag(r.registry + "/nodefence/nodefence:v0.1.0")
	must(t, err)
	must(t, remote.WriteIndex(tag, r.images["nodefence"]))
	told, err := r.runPublish(t)
	must(t, err)
	if strings.Count(told, ": pushed\n") != 2 || strings.Count(told, ": is there already\n") != 1 {
		t.Error(told)
	}
}

// TestAVersionIsPublishedOnce: if one image or the chart differs from the registry's, nothing is pushed.
func TestAVersionIsPublishedOnce(t *testing.T) {
	for what, change := range map[string]func(*testing.T, *release){
		"another image": func(t *testing.T, r *release) {
			*r = *newRelease(t, r.registry, "nodefence", "nodefence-local", "nodefence-source")
			r.writeChart(t, "a release")
		},
		"another chart": func(t *testing.T, r *release) {
			r.writeChart(t, "another release")
			more := newRelease(t, r.registry, "nodefence-source")
			r.writeImage(t, "nodefence-source", more.images["nodefence-source"])
			list, err := os.ReadFile(filepath.Join(r.dist, "images.txt"))
			must(t, err)
			added, err := os.ReadFile(filepath.Join(more.dist, "images.txt"))
			must(t, err)
			r.writeFile(t, "images.txt", append(list, added...))
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRelease(t, serveRegistry(t), "nodefence", "nodefence-local")
			_, err := r.runPublish(t)
			must(t, err)
			before := r.digestIn(t, "nodefence/nodefence:v0.1.0")
			change(t, r)
			if told, err := r.runPublish(t); err == nil || !strings.Contains(err.Error(), "published once") || told != "" {
				t.Errorf("%v\n%s", err, told)
			}
			if got := r.digestIn(t, "nodefence/nodefence:v0.1.0"); got != before {
				t.Errorf("the image is %s, and was %s", got, before)
			}
			if got := r.digestIn(t, "nodefence/nodefence-source:v0.1.0"); got != "" {
				t.Errorf("nodefence-source was pushed: %s", got)
			}
		})
	}
}

// TestABadReleaseIsRefused before anything is pushed.
func TestABadReleaseIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*testing.T, *release)
		says   string
	}{
		"no list":       {func(t *testing.T, r *release) { must(t, os.Remove(filepath.Join(r.dist, "images.txt"))) }, "make release writes it"},
		"an empty list": {func(t *testing.T, r *release) { r.writeFile(t, "images.txt", nil) }, "lists no image"},
		"without a registry": {func(t *testing.T, r *release) {
			r.writeFile(t, "images.txt", []byte("nodefence@sha256:"+strings.Repeat("a", 64)))
		}, "REGISTRY="},
		"no archive": {func(t *testing.T, r *release) { must(t, os.Remove(filepath.Join(r.dist, "nodefence-local.oci.tar"))) }, "nodefence-local.oci.tar"},
		"another archive": {func(t *testing.T, r *release) {
			index, err := random.Index(64, 1, 2)
			must(t, err)
			r.writeImage(t, "nodefence-local", index)
		}, "does not have the image"},
		"no chart":   {func(t *testing.T, r *release) { must(t, os.Remove(filepath.Join(r.dist, "nodefence-0.1.0.tgz"))) }, "0 charts"},
		"two charts": {func(t *testing.T, r *release) { r.writeFile(t, "nodefence-0.2.0.tgz", nil) }, "2 charts"},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRelease(t, serveRegistry(t), "nodefence", "nodefence-local")
			c.change(t, r)
			if _, err := r.runPublish(t); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
			if got := r.digestIn(t, "nodefence/nodefence:v0.1.0"); got != "" {
				t.Errorf("an image was pushed: %s", got)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
