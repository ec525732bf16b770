package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/test/rig"
)

// module is this repository's, and own that in which func builds its main.
const (
	module = "github.com/nodefence/nodefence"
	own    = `module s

replace %[1]s => ./f

go %[2]s

require (
	%[1]s v0.0.0-00010101000000-000000000000
%[3]s)
`
)

// build compiles what func v1.22.0 compiles: main in a module of its own, with func's
// versions (testdata/pins.txt) of the modules that it has, and our versions of all others. It
// uses a plain go build, in the environment that func.yaml names.
func build(t *testing.T) string {
	t.Helper()
	root, err := rig.Root()
	must(t, err)
	dir, bin := t.TempDir(), filepath.Join(t.TempDir(), "f")
	scaffold(t, root, dir)
	if out, err := goBuild(dir, bin, os.Environ()); err == nil || !strings.Contains(out, "updates to go.mod needed") {
		t.Errorf("without func.yaml's environment: %v: %s; is it still needed?", err, out)
	}
	if out, err := goBuild(dir, bin, buildEnvs(t, root)); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	return bin
}

func goBuild(dir, bin string, env []string) (string, error) {
	cmd := exec.Command("go", "build", "-o", bin)
	cmd.Dir, cmd.Env = dir, append(env, "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// scaffold writes the module.
func scaffold(t *testing.T, root, dir string) {
	t.Helper()
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(path...))
		must(t, err)
		return string(text)
	}
	write := func(name, text string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	var require strings.Builder
	pinned := map[string]bool{}
	for l := range strings.Lines(read("testdata/pins.txt")) {
		name, version, _ := strings.Cut(strings.TrimSpace(l), " ")
		pinned[name] = true
		fmt.Fprintf(&require, "\t%s %s\n", name, version)
	}
	var ours struct {
		Go      string
		Require []struct{ Path, Version string }
	}
	text, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(root, "go.mod")).Output()
	must(t, err)
	must(t, json.Unmarshal(text, &ours))
	for _, r := range ours.Require {
		if !pinned[r.Path] {
			fmt.Fprintf(&require, "\t%s %s\n", r.Path, r.Version)
		}
	}
	write("go.mod", fmt.Sprintf(own, module, ours.Go, require.String()))
	write("go.sum", read("testdata/pins.sum")+read(root, "go.sum"))
	write("main.go", read("main.go"))
	must(t, os.Symlink(root, filepath.Join(dir, "f")))
}

// buildEnvs is this process's environment with what func.yaml adds for the builders. Our own
// flags are kept, so that packages that are already compiled are not compiled again.
func buildEnvs(t *testing.T, root string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "func.yaml"))
	must(t, err)
	var f struct {
		Build struct {
			BuildEnvs []struct{ Name, Value string } `json:"buildEnvs"`
		} `json:"build"`
	}
	must(t, yaml.Unmarshal(text, &f))
	env := os.Environ()
	for _, e := range f.Build.BuildEnvs {
		env = append(env, e.Name+"="+strings.TrimSpace(e.Value+" "+os.Getenv(e.Name)))
	}
	return env
}
