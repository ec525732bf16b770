// Package layout holds the project to its shape: dependencies point one way.
package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/nodefence/nodefence"

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string][]string{}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		all[name] = p.Imports
	}
}

// cores decide, and touch nothing: which policy is about a node, what comes next for one
// fence or for an object that asks for one, and whether one more may begin. Each imports only those
// before it.
var cores = map[string][]string{
	"shared/policy":         {"shared/api/v1alpha1", "shared/clip"},
	"shared/ask":            {"shared/api/v1alpha1"},
	"shared/adopt/far":      {"shared/api/v1alpha1", "shared/clip", "shared/ask"},
	"shared/fence/observed": {"shared/api/v1alpha1", "shared/clip", "shared/policy"},
	"shared/fence/facts":    {"shared/api/v1alpha1", "shared/clip", "shared/policy", "shared/fence/observed"},
	"shared/hold":           {"shared/api/v1alpha1", "shared/policy", "shared/fence/observed", "shared/fence/facts"},
	"shared/fence":          {"shared/api/v1alpha1", "shared/clip", "shared/policy", "shared/fence/observed", "shared/fence/facts", "shared/hold"},
	"shared/admission":      {"shared/api/v1alpha1", "shared/clip", "shared/policy", "shared/fence/observed", "shared/fence/facts", "shared/hold", "shared/fence"},
}

// walked are what the cores' tests begin with, the walk, and the twins that it must catch. Each
// imports only those before it, and is imported by tests alone.
var walked = map[string][]string{
	"shared/fence/fencetest":       {"shared/api/v1alpha1", "shared/policy", "shared/fence/observed", "shared/fence/facts", "shared/fence", "shared/admission"},
	"shared/fence/fencetest/specs": {"shared/api/v1alpha1", "shared/fence/observed", "shared/fence/facts", "shared/fence", "shared/fence/fencetest"},
	"shared/fence/fencetest/walk":  {"shared/api/v1alpha1", "shared/policy", "shared/fence/observed", "shared/fence/facts", "shared/hold", "shared/fence", "shared/fence/fencetest", "shared/fence/fencetest/specs"},
	"shared/fence/fencetest/twins": {"shared/api/v1alpha1", "shared/policy", "shared/fence/observed", "shared/fence/facts", "shared/fence", "shared/fence/fencetest", "shared/fence/fencetest/specs", "shared/fence/fencetest/walk"},
}

// walks are those of which the walk consists.
var walks = []string{"shared/fence/fencetest/specs", "shared/fence/fencetest/walk", "shared/fence/fencetest/twins"}

func TestDependenciesPointOneWay(t *testing.T) {
	all := packages(t)
	functions := []string{"adopt", "adopt/healthchecks", "cleanup", "gate", "gate/admit", "gate/checks", "gate/open", "gate/requests", "isolate", "policystatus", "power", "recover", "request", "resync"}
	for name, imports := range all {
		for _, imp := range imports {
			own, isOwn := strings.CutPrefix(imp, module+"/")
			switch {
			case cores[name] != nil && isOwn && !slices.Contains(cores[name], own):
				t.Errorf("%s imports only %v, not %s", name, cores[name], own)
			case walked[name] != nil && isOwn && !slices.Contains(walked[name], own):
				t.Errorf("%s imports only %v, not %s", name, walked[name], own)
			case walked[name] == nil && walked[own] != nil:
				t.Errorf("%s imports %s, which is for tests", name, own)
			case name == "test/judge" && isOwn && own != "shared/api/v1alpha1":
				t.Errorf("the judge shares no code with what it judges, and imports %s", own)
			case name == "shared/kube" && (own == "shared/fence" || own == "shared/admission"):
				t.Errorf("the client knows no decision: what one is made on is read by shared/look, so %s imports no %s", name, own)
			case name == "events" && isOwn && own != "shared/api/v1alpha1" && own != "shared/spelling":
				t.Errorf("events imports only api, and the distance of two words, not %s", own)
			case isDriver(name) && strings.HasPrefix(imp, "k8s.io/"):
				t.Errorf("drivers know no Kubernetes: %s imports %s", name, imp)
			case isDriver(name) && isOwn && !isDriver(own) && own != "shared/clip":
				t.Errorf("drivers stand below all else: %s imports %s", name, own)
			case strings.HasPrefix(name, "functions/") && slices.Contains(functions, strings.TrimPrefix(name, "functions/")) && isOwn &&
				(strings.HasPrefix(own, "functions/") && !(isRoom(own) && isGate(name)) || own == "shared/binding" || strings.HasPrefix(own, "shared/device/")):
				t.Errorf("%s knows a driver or another function: %s", name, own)
			case strings.HasPrefix(name, "shared/") && isOwn && !strings.HasPrefix(own, "shared/") && own != "events":
				t.Errorf("%s depends on %s", name, own)
			case !strings.HasPrefix(name, "test/") && strings.HasPrefix(imp, "github.com/bougou/go-ipmi"):
				t.Errorf("%s depends on an IPMI library, which does not verify who answers", name)
			case !strings.HasPrefix(name, "test/") && isOwn && strings.HasPrefix(own, "test/"):
				t.Errorf("%s depends on the tests: %s", name, own)
			}
		}
	}
}

// isGate reports whether a package is the gate or a room of it, isRoom whether it is a room.
func isGate(name string) bool { return name == "functions/gate" || isRoom(name) }
func isRoom(name string) bool { return strings.HasPrefix(name, "functions/gate/") }

// isDriver reports whether a package is shared/device or in it.
func isDriver(name string) bool {
	return name == "shared/device" || strings.HasPrefix(name, "shared/device/")
}

func TestNoDrawers(t *testing.T) {
	for name := range packages(t) {
		last := name[strings.LastIndex(name, "/")+1:]
		if slices.Contains([]string{"util", "utils", "common", "helpers", "misc"}, last) {
			t.Errorf("%s says nothing about what is in it", name)
		}
	}
}

func TestTheFunctionsBinaryStaysSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags", programTags(t), "-deps", module+"/functions/cmd/nodefence").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for l := range strings.Lines(string(out)) {
		for _, heavy := range []string{"knative.dev/", "github.com/nats-io/", "k8s.io/client-go/kubernetes", "github.com/vmware/", "github.com/Azure/", "net/rpc", "golang.org/x/net/trace"} {
			if strings.HasPrefix(l, heavy) {
				t.Errorf("the functions' program must stay small, and depends on %s", strings.TrimSpace(l))
			}
		}
	}
}
