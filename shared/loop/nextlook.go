package loop

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// soon is the least time that must be left until a nextLook that is still to come.
const soon = 2 * time.Second

// onlyNextLookDiffers tells whether a decision changes nothing in the record but nextLook, and the saved one may
// stand: it wakes somebody within a resync, whoever dies meanwhile (S19).
//
// To resolve leaves nothing behind that a look has to end soon: no slot, and no place among the nodes
// that drain. So the saved one may be later than the decision's, or over: an overdue record is looked at
// at once. For any other action, and where nothing is done, it may only be sooner, and still to come.
// Where nothing is done, half of the wait must be left: a look costs no less than a write.
func onlyNextLookDiffers(before, after api.NodeFenceStatus, act fence.Action, now time.Time) bool {
	if before.NextLook == nil || after.NextLook == nil {
		return false
	}
	left, wanted := before.NextLook.Sub(now), after.NextLook.Sub(now)
	switch {
	case left > facts.Resync:
		return false
	case act != fence.Resolve && (left < soon || left > wanted):
		return false
	case act == fence.None && left < wanted/2:
		return false
	}
	before.NextLook = after.NextLook
	return equality.Semantic.DeepEqual(before, after)
}
