//go:build linux

package binding

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/device/agent/supervisor"
)

// TestASupervisorBeginsBeforeTheRest: this binary has what every program has that binds
// devices. Where it is started to supervise an agent, it does so before it has initialised any
// of that: it takes ten times as long as all else that a supervisor does.
func TestASupervisorBeginsBeforeTheRest(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args, cmd.Env = []string{supervisor.Name}, []string{"GODEBUG=inittrace=1"}
	said, err := cmd.CombinedOutput() // it has no job, and ends
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, said)
	}
	var begun []string
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @`).FindAllStringSubmatch(string(said), -1) {
		begun = append(begun, m[1])
	}
	if !slices.Contains(begun, "os/signal") { // which it needs itself
		t.Fatalf("it does not say what it initialises: %s", said)
	}
	for _, p := range begun {
		for _, large := range []string{"k8s.io/", "sigs.k8s.io/", "net/http"} {
			if strings.HasPrefix(p, large) {
				t.Errorf("%s was initialised before", p)
			}
		}
	}
}
