package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

// released is what one run writes, by name.
func released(t *testing.T, args ...string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	must(t, run(append([]string{"-out", dir}, args...), io.Discard))
	files, err := os.ReadDir(dir)
	must(t, err)
	all := map[string][]byte{}
	for _, f := range files {
		all[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name()))
		must(t, err)
	}
	return all
}

// TestTwoRunsWriteTheSame, byte by byte; and a release is whole.
func TestTwoRunsWriteTheSame(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, []byte("program"), 0o600))
	args := []string{"-version", "v0.1.0", "-registry", "registry.example.com/nodefence", "-lambda-arm64", program, "-lambda-x86_64", program}
	first, second := released(t, args...), released(t, args...)
	var names []string
	for name, text := range first {
		names = append(names, name)
		if !bytes.Equal(text, second[name]) {
			t.Errorf("%s is another in the second run", name)
		}
		if bytes.Contains(text, []byte("name-yours")) {
			t.Errorf("%s has an image without a name", name)
		}
	}
	want := []string{
		"nodefence-0.1.0.tgz", "nodefence-aws-arm64.zip", "nodefence-aws-cluster.yaml", "nodefence-aws-source.yaml", "nodefence-aws-x86_64.zip",
		"nodefence-crd.yaml", "nodefence-deployments.yaml", "nodefence-kafka.yaml", "nodefence-ledger.yaml", "nodefence-namespaces.yaml", "nodefence-olm-bundle.tar.gz",
		"nodefence-olm-rest.yaml", "nodefence-people.yaml", "nodefence-serving.yaml", "nodefence-standalone.yaml", "nodefence.yaml",
	}
	if d := cmp.Diff(want, slices.Sorted(slices.Values(names))); d != "" {
		t.Error(d)
	}
	for name, n := range map[string]int{"nodefence-deployments.yaml": 11, "nodefence-kafka.yaml": 11, "nodefence-serving.yaml": 11, "nodefence-standalone.yaml": 2, "nodefence.yaml": 2, "nodefence-aws-source.yaml": 1} {
		if got := strings.Count(string(first[name]), "registry.example.com/nodefence/nodefence"); got != n {
			t.Errorf("%s names the release's images %d times, want %d", name, got, n)
		}
	}
}

// TestThePageListsWhatAReleaseHolds: what `make release` writes stands in the table of INSTALL.md, by
// the name that the writer gives it.
func TestThePageListsWhatAReleaseHolds(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, []byte("program"), 0o600))
	writers := map[string]string{} // the words of the page, by the file and its own words
	for name := range released(t, "-version", "v0.1.0", "-lambda-arm64", program, "-lambda-x86_64", program) {
		writers["`"+strings.ReplaceAll(name, "0.1.0", "VERSION")+"`"] = ""
	}
	for page, writer := range map[string][2]string{
		"`nodefence-local_linux_ARCH.tar.gz`":  {"programs", "${PROGRAMS:-nodefence-local nodefence-source}"},
		"`nodefence-source_linux_ARCH.tar.gz`": {"programs", "name=${program}_linux_$arch.tar.gz"},
		"`kubectl-fence_OS_ARCH.tar.gz`":       {"../../sources/kubectl-fence/release", "name=kubectl-fence_${os}_$arch.tar.gz"},
		"`kubectl-fence_checksums.txt`":        {"../../sources/kubectl-fence/release", ">kubectl-fence_checksums.txt"},
		"`kubectl-fence_krew.yaml`":            {"../../sources/kubectl-fence/release", "dist/kubectl-fence_krew.yaml"},
		"`nodefence.oci.tar`":                  {"images/main.go", `{"nodefence", `},
		"`nodefence-local.oci.tar`":            {"images/main.go", `{"nodefence-local", `},
		"`IMAGE_linux_ARCH.docker.tar`":        {"images/names.go", `".docker.tar"`},
		"`nodefence-source.oci.tar`":           {"images/main.go", `{"nodefence-source", `},
		"`nodefence-kdump.oci.tar`":            {"images/main.go", `{"nodefence-kdump", `},
		"`images.txt`":                         {"images/main.go", `"images.txt"`},
		"`*.spdx.json`":                        {"images/main.go", `"--sbom-dir"`},
		"`*.cdx.json`":                         {"../../Makefile", "dist/$$p.cdx.json"},
		"`SHA256SUMS`":                         {"../../Makefile", "dist/SHA256SUMS"},
	} {
		text, err := os.ReadFile(writer[0])
		must(t, err)
		if !strings.Contains(string(text), writer[1]) {
			t.Errorf("%s does not say %q any more", writer[0], writer[1])
		}
		writers[page] = writer[0]
	}
	page, err := os.ReadFile("../INSTALL.md")
	must(t, err)
	_, table, _ := strings.Cut(string(page), "## What a release holds\n\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for name := range writers {
		if !strings.Contains(table, name) {
			t.Errorf("INSTALL.md does not list %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`([^` ]+)`").FindAllStringSubmatch(table, -1) {
		if _, is := writers[m[0]]; !is && strings.Contains(m[1], ".") {
			t.Errorf("INSTALL.md lists %s, which nothing writes", m[0])
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	must(t, err)
	_, recipe, _ := strings.Cut(string(makefile), "\nrelease: ")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	for _, step := range []string{"infra/release/programs", "sources/kubectl-fence/release", "go run ./images", "go run . "} {
		if !strings.Contains(recipe, step) {
			t.Errorf("make release does not run %s", step)
		}
	}
}

// TestTheStackHasItsProgram, which may be run, for the architecture that the template says.
func TestTheStackHasItsProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, []byte("program"), 0o600))
	packed := released(t, "-version", "v0.1.0", "-lambda-x86_64", program)["nodefence-aws-x86_64.zip"]
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	must(t, err)
	got := map[string]string{}
	for _, f := range z.File {
		got[f.Name] = f.Mode().String()
	}
	if d := cmp.Diff(map[string]string{"template.yaml": "-rw-r--r--", "build/bootstrap": "-rwxr-xr-x"}, got); d != "" {
		t.Error(d)
	}
	f, err := z.Open("template.yaml")
	must(t, err)
	text, err := io.ReadAll(f)
	must(t, err)
	if !strings.Contains(string(text), "    Default: x86_64\n    AllowedValues: [x86_64]\n") {
		t.Error("the template is not for x86_64")
	}
}

// TestVersionsAreRefused that no image, Helm or OLM could have.
func TestVersionsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no version":      {nil, `VERSION is ""`},
		"a moving tag":    {[]string{"-version", "latest"}, `VERSION is "latest"`},
		"no semver":       {[]string{"-version", "4fd4cce8"}, `VERSION is "4fd4cce8", which Helm and OLM take for no version`},
		"a URL":           {[]string{"-version", "v0.1.0", "-registry", "https://registry.example.com"}, `REGISTRY is "https://registry.example.com"`},
		"a word too many": {[]string{"-version", "v0.1.0", "now"}, `unknown argument "now"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(append([]string{"-out", t.TempDir()}, c.args...), io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
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

// TestOneOldestKubernetes: the chart, the bundle, the page and `make e2e-oldest` mean the same version.
func TestOneOldestKubernetes(t *testing.T) {
	for file, want := range map[string]string{
		"chart/nodefence/Chart.yaml": "kubeVersion: \">=" + manifests.OldestKubernetes + ".0-0\"\n",
		"../INSTALL.md":              "**" + manifests.OldestKubernetes + " to 1.",
		"../../README.md":            "Kubernetes " + manifests.OldestKubernetes + " to 1.",
		"../../Makefile":             "OLDEST := v" + manifests.OldestKubernetes + ".",
	} {
		text, err := os.ReadFile(file)
		must(t, err)
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q", file, want)
		}
	}
}
