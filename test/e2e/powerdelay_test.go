package e2e

import (
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestPowerDelay: under isolation.powerDelay a node that comes back in time is given back without an
// Off. One that stays away is switched off once the time is over, by a yes of its own (S17).
func TestPowerDelay(t *testing.T) {
	w := newWorld(t, 4, quick+"isolation: {powerDelay: 1h}\n")
	w.start(nil)
	back := w.database(1)

	w.node(back, "partition")
	f := w.held(back, api.WaitingBeforePower)
	if f.Status.Phase != api.Pending || f.Status.DecidedAt != nil || !strings.HasPrefix(f.Status.Message, "isolated; its power is not cut before ") {
		t.Errorf("it waits as %s, %q, yes at %v", f.Status.Phase, f.Status.Message, f.Status.DecidedAt)
	}
	if !w.isolated(back) {
		t.Error("a node whose power is waited for has no taint or no cordon")
	}
	w.node(back, "heal")
	w.ended(back, api.HealedBeforeFence)
	w.words(back, "")
	w.unmarked(back)

	away := w.besides(4, back)
	w.node(away, "crash")
	w.held(away, api.WaitingBeforePower)
	w.words(away, "")
	must(t, w.Apply(w.ctx, rig.Policy("default", quick+"isolation: {powerDelay: 1s}\n")))
	w.ended(away, api.Recovered)
	w.words(away, "off on")
	w.oneWriter()
	w.unmarked(away)
}
