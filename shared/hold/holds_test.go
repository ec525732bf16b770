package hold_test

import (
	"slices"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
	"github.com/nodefence/nodefence/shared/look"
)

var groups = []hold.Group{hold.ByPolicy, hold.ByNode, hold.ByMode}

// TestEachPairOfHolds: of two rows the earlier one answers, and the later one is told all the same. A mark is
// removed if either row wants that, and none leaves open what the policies say.
func TestEachPairOfHolds(t *testing.T) {
	for _, c := range holdtest.Cases(t) {
		all := hold.All(c.Input(look.NodeFrom(c.Node, "")), groups...)
		same := slices.EqualFunc(all, c.Rows, func(h hold.Hold, r hold.Row) bool { return h.Reason == r.Reason && h.Message != "" })
		if !same {
			t.Errorf("%s: the table says %v", c.Name(), all)
			continue
		}
		want := c.Has(func(r hold.Row) bool { return r.Unmark }) && !c.Has(func(r hold.Row) bool { return r.Unsure })
		if first := hold.First(c.Input(look.NodeFrom(c.Node, "")), groups...); (first == nil) != (len(all) == 0) || first != nil && first.Reason != all[0].Reason || hold.Unmarks(all) != want {
			t.Errorf("%s: first is %v, marks go is %v", c.Name(), first, !want)
		}
	}
}

// TestTheTableIsInOrder: the groups follow each other, and each reason has one row, a meaning and a remedy.
func TestTheTableIsInOrder(t *testing.T) {
	rows := hold.Rows()
	seen := map[api.Reason]bool{}
	for i, r := range rows {
		if i > 0 && r.Group < rows[i-1].Group {
			t.Errorf("%s stands after a row of a later group", r.Reason)
		}
		if seen[r.Reason] || r.Again <= 0 {
			t.Errorf("%s has two rows, or asks again after %s", r.Reason, r.Again)
		}
		if r.Means == "" || r.Remedy.Do == "" {
			t.Errorf("%s has no meaning or no remedy", r.Reason)
		}
		seen[r.Reason] = true
	}
}

// TestAPersonsWordEndsAHold: a word that the machine is off touches no machine.
func TestAPersonsWordEndsAHold(t *testing.T) {
	for _, r := range hold.Rows() {
		c := holdtest.Of(t, r)
		in := c.Input(look.NodeFrom(c.Node, ""))
		in.SaidOff = true
		gone := hold.First(in, groups...) == nil
		if want := r.Reason == api.NodeBeingDeleted || r.Reason == api.RebootUnderWay || r.Reason == api.CutRefuted || r.Reason == api.WaitingForApproval; gone != want {
			t.Errorf("%s is gone: %v", r.Reason, gone)
		}
	}
}
