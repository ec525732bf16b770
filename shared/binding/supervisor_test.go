//go:build linux

package binding

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/nodefence/nodefence/shared/device/agent/supervisor"
)

// TestASupervisorBeginsBeforeTheRest: this binary has what every program has that binds
// devices. Where it is started to supervise an agent, it does so before it has initialised any
// of that, which would take ten times as long as all else that a supervisor does. Packages that
// nearly all others need show whether it does: once these are initialised, much is that nobody
// asked for. x/sys/unix is one of them, as it needs reflect.
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
	late := regexp.MustCompile(`^(k8s\.io/.*|sigs\.k8s\.io/.*|net/http|reflect|unicode|encoding/json|golang\.org/x/sys/unix)$`)
	for _, p := range begun {
		if late.MatchString(p) {
			t.Errorf("%s was initialised before", p)
		}
	}
}
