package e2e

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestPlanAndADeadOutlet: the fence of a machine with two supplies does what kubectl fence plan says.
// If one outlet does not answer, the machine can't be proven off, and the other outlet is cut
// nevertheless.
func TestPlanAndADeadOutlet(t *testing.T) {
	// The repaired outlet reads on: it is cut after it has read on for this time.
	w := newWorld(t, 4, strings.Replace(patient, "powerOff: 1m", "powerOff: 15s", 1))
	machines, err := w.Lab.Machines()
	must(t, err)
	m := machines["node-1"]
	w.wire(m, "a b", "")
	both := m.Outlets["a"] + " and " + m.Outlets["b"]
	w.plan(3, "node-1", "note: nodefence has not ", "device set "+both, "all of ipmi "+m.Outlets["b"], "2.password (secret) Secret bmc-node-1, key password",
		"call 3 device set "+both+": Off, if the machine reads on", "now nodefence has not ", ": no fence begins", "(LeasePictureOld)")
	other := m
	other.Name = "node-2"
	w.wire(other, "b", "")
	w.plan(1, "node-1", "refused ConfigMap fence-config-node-node-2: node node-2 has the same device address ", " as node node-1; neither of them is fenced before one is mended")
	w.plan(1, "--all", "node-0 yes default ipmi ", "node-2 refused ")
	w.wire(machines["node-2"], "bmc", "")

	must(t, w.Lab.Fault("node-1.b", "hang"))
	w.database(4)
	w.start(nil)
	w.node("node-1", "crash")
	notReleased(t, w, "node-1")
	w.untilFence("node-1", "the error to name the outlet that does not answer", func(f *api.NodeFence) bool {
		return strings.Contains(f.Status.Power.LastError, "device ipmi "+m.Outlets["b"]+" of the set")
	})
	w.words("node-1.a", "off")
	w.plan(0, "node-1", "now a fence is under way: ")

	must(t, w.Lab.Fault("node-1.b", "none"))
	w.phase("node-1", api.Finished)
	w.words("node-1.a", "off on")
	w.words("node-1.b", "off on")
	w.words("node-1", "")
	w.unmarked("node-1")
	w.oneWriter()
}

// plan runs the program, and checks its exit code and that its output has these texts.
func (w *world) plan(code int, node string, pieces ...string) {
	w.t.Helper()
	bin, err := rig.Bin("kubectl-fence")
	must(w.t, err)
	out, err := exec.CommandContext(w.ctx, bin, "plan", "--kubeconfig", w.Lab.Kubeconfig, node).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	got := 0
	if exit != nil {
		got = exit.ExitCode()
	}
	text := strings.Join(strings.Fields(string(out)), " ")
	if got != code {
		w.t.Errorf("kubectl fence plan %s exits with %d, want %d: %s", node, got, code, out)
	}
	for _, p := range pieces {
		if !strings.Contains(text, p) {
			w.t.Errorf("kubectl fence plan %s does not say %q:\n%s", node, p, out)
		}
	}
}
