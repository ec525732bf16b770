package fencetest

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Look is what is seen of a fence's node in a world that means well: its marks are as they
// were placed, no brake is on, the gate says yes, and nothing is left to be released. Its
// Lease has the mark r0, or another one if it moved; ready is the status of its condition.
func Look(f *api.NodeFence, now time.Time, ready string, moved bool, boot string) observed.Look {
	return LookOf(&f.Status, "r0", now, ready, moved, boot)
}

// LookOf is the same where the Lease last had another mark.
func LookOf(st *api.NodeFenceStatus, renewed string, now time.Time, ready string, moved bool, boot string) observed.Look {
	if moved {
		renewed = renewedAgain(renewed, st.Lease.Renewed)
	}
	return observed.Look{
		Me: "me", Node: observed.Node{
			Exists: true, UID: "uid-1", BootID: boot,
			Conditions: []observed.Condition{{Type: "Ready", Status: ready, Since: Start}},
			Taint:      st.Placed.Taint, Cordoned: st.Placed.Cordon, CordonOurs: st.Placed.Cordon,
			OutOfService: st.Placed.OutOfService,
		},
		Lease:  observed.Lease{Exists: true, Renewed: renewed, Renewal: Renewal},
		Brakes: observed.Brakes{Looked: true, Counted: true}, Finalizer: true, Left: &observed.Left{}, Reserved: &now, Resolved: true, MayDrain: true, MayCheck: true, Draining: &observed.Draining{},
	}
}

// renewedAgain is a mark that neither the node nor the record has seen: a few suffice, and
// one that comes again would be a Lease that stood still all the time.
func renewedAgain(seen, recorded string) string {
	for _, mark := range []string{"r0", "r1"} {
		if mark != seen && mark != recorded {
			return mark
		}
	}
	return "r2"
}
