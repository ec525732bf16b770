package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const byDevice = quick + `
activityChecks:
  checks: [CHECKS]
  rounds: 2
  failedRounds: 2
  interval: 1s
  recheckInterval: 2s
`

// TestActivityChecksByDevice: the machine's BMC is the only other witness. If a node has
// crashed and its machine is on, the node is DEGRADED, and its BMC gets no command. After the
// machine has lost its power, the node counts as dead, and its work moves.
func TestActivityChecksByDevice(t *testing.T) {
	w := newWorld(t, 3, strings.ReplaceAll(byDevice, "CHECKS", "{type: Device}"))
	w.start(func(o *local.Options) { o.CheckEvery = time.Hour })
	victim := w.database(1)
	w.hostHA(victim, api.HostHAAvailable)
	w.node(victim, "crash")
	f := w.held(victim, api.ActivitySeen)
	if f.Status.ActivityChecks.Failed > 0 || f.Status.Placed.Taint {
		t.Errorf("%+v", f.Status.ActivityChecks)
	}
	w.hostHA(victim, api.HostHADegraded)
	if !told(f, api.CheckingActivity, "reading the machine's power") {
		t.Errorf("the history does not say that the machine was read: %+v", f.Status.History)
	}
	w.words(victim, "")
	w.unmarked(victim)

	w.node(victim, "power-loss")
	w.moved("db-0", victim)
	f, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	if !told(f, api.NoActivity, "reads off") {
		t.Errorf("the history does not say what was seen: %+v", f.Status.History)
	}
	w.words(victim, "")
	w.oneWriter()
}
