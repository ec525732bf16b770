package knative

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestACrashedNodeIsFencedOverKnative is the main story: every hop is an event
// through the real broker.
func TestACrashedNodeIsFencedOverKnative(t *testing.T) {
	w := newWorld(t)
	w.deploy()
	victim := w.database()
	w.crash(victim).end()
	if n, err := w.lost(victim); err != nil || n > 0 {
		t.Errorf("%d dead letters in a run without faults: %v", n, err)
	}

	// An event with a misspelt type goes to no function. It is reported, and leads to nothing.
	must(t, w.send(system, broker, plain("misspelt", "io.nodefence.request.fenc.v1", victim, "{}")))
	w.until("the misspelt type to be told of", func() (bool, error) {
		log, err := os.ReadFile(filepath.Join(w.dir, "nodefence-deadletter.log"))
		return strings.Contains(string(log), "did you mean io.nodefence.request.fence.v1?"), err
	})
	told, err := os.ReadFile(filepath.Join(w.dir, "nodefence-deadletter.log"))
	if n := strings.Count(string(told), `"msg":"unknown type"`); err != nil || n != 1 {
		t.Errorf("%d types are unknown, one was sent: %v\n%s", n, err, told)
	}
}
