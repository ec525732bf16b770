package fence_test

import (
	"cmp"
	"fmt"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestASupplyThatIsNotSwitchedOn: a machine of which only some supplies came on again is
// told to be switched on anew, as often as a step is tried (S25), and recovers all the
// same.
func TestASupplyThatIsNotSwitchedOn(t *testing.T) {
	const lacks = "device pdu2 of the set reads off"
	for name, c := range map[string]struct {
		// comes is by which On the other supply comes; 0 is never.
		comes, ons int
		// first is what is read before any On; dead reads fail before that.
		first observed.CallResult
		dead  int
		told  []string
	}{
		"it comes with the first": {comes: 1, ons: 1},
		"it comes with the second": {comes: 2, ons: 2, told: []string{
			"power-on was sent, the machine reads on, but " + lacks + " (try 1 of 3)"}},
		"it never comes": {ons: 4, told: []string{
			"power-on was sent, the machine reads on, but " + lacks + " (try 1 of 3)",
			"power-on was sent, the machine reads on, but " + lacks + " (try 2 of 3)",
			"power-on was sent, the machine reads on, but " + lacks + " (try 3 of 3)",
			"the machine reads on, and " + lacks + ": it is to be switched on by hand"}},
		"others have switched on the first": {comes: 1, ons: 1, first: observed.CallResult{Power: "On", MissingSupply: lacks}},
		"others have switched on both":      {first: observed.CallResult{Power: "On"}},
		"others have, and the device was away for long": {comes: 2, ons: 2, first: observed.CallResult{Power: "On", MissingSupply: lacks}, dead: 7, told: []string{
			"power-on was sent, the machine reads on, but " + lacks + " (try 2 of 3)"}},
	} {
		f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
		f.Status.Decision.Settings.Power.Attempts = 3
		at := observed.StampOf(fencetest.Start)
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
			Phase: api.PoweringOn, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, CutOrReleased: true, BootIDBefore: "a",
			Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: &at}, Cut: []int32{0}},
		}
		read, ons, now := c.first, 0, fencetest.Start
		read.Call, read.Power = api.CallRead, cmp.Or(read.Power, "Off")
		for i := 0; i < 400 && f.Status.Phase == api.PoweringOn; i++ {
			if n := f.Status.NextLook; n != nil && n.After(now) {
				now = n.Time
			}
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			seen.Me = fmt.Sprint(i)
			st, act := fence.Decide(f, seen, now)
			if f.Status = st; act == fence.None {
				continue
			}
			end := observed.CallResult{Call: api.CallOn}
			if act == fence.Read && c.dead > 0 {
				c.dead--
				end = observed.CallResult{Call: api.CallRead, Err: "device unreachable"}
			} else if act == fence.Read {
				end = read
			} else if ons++; ons == c.comes {
				read = observed.CallResult{Call: api.CallRead, Power: "On"}
			} else {
				read = observed.CallResult{Call: api.CallRead, Power: "On", MissingSupply: lacks}
			}
			end.At, seen.Call = now, &end
			f.Status, _ = fence.Decide(f, seen, now)
		}
		var told []string
		for _, h := range f.Status.History {
			if h.Reason == api.PowerOnNotSeen {
				told = append(told, h.Message)
			}
		}
		if f.Status.Phase != api.Recovering || ons != c.ons {
			t.Errorf("%s: %s after %d On (%s)", name, f.Status.Phase, ons, f.Status.Message)
		}
		if d := diff.Diff(c.told, told); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
