package apiserver

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestALeaderGivesWayForItsOwnNode: once it has led for a while, again for another fence, and again for the same fence
// after some minutes (S13: never its own machine).
func TestALeaderGivesWayForItsOwnNode(t *testing.T) {
	const hour = time.Hour // the lead began
	waits := func(uid string) *api.NodeFence {
		f := &api.NodeFence{}
		f.UID, f.Status.WaitsFor = types.UID(uid), api.WaitsForOtherReplica
		return f
	}
	other := waits("a")
	other.Status.WaitsFor = api.WaitsForApproval
	type look struct {
		fence *api.NodeFence
		at    time.Duration
		want  bool
	}
	for name, looks := range map[string][]look{
		"no fence":              {{nil, hour + time.Hour, false}},
		"held by something":     {{other, hour + time.Hour, false}},
		"the lead is too young": {{waits("a"), hour + leadsAtLeast - 1, false}},
		"once for a fence":      {{waits("a"), hour + leadsAtLeast, true}, {waits("a"), hour + leadsAtLeast + givesWayAgain - 1, false}},
		"again after a while":   {{waits("a"), hour + leadsAtLeast, true}, {waits("a"), hour + leadsAtLeast + givesWayAgain, true}},
		"for the next fence":    {{waits("a"), hour + leadsAtLeast, true}, {waits("b"), hour + leadsAtLeast + 1, true}},
	} {
		var o ownNode
		began := hour
		o.setLead(&began)
		for i, l := range looks {
			if got := o.giveWay(l.fence, l.at); got != l.want {
				t.Errorf("%s, look %d: %v", name, i, got)
			}
			if given := o.takeGiven(); given != l.want || o.takeGiven() {
				t.Errorf("%s, look %d: it waits for another: %v", name, i, given)
			}
		}
		o.setLead(nil)
		if o.giveWay(waits("c"), 10*hour) {
			t.Errorf("%s: a standby gives way", name)
		}
	}
}
