package view

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
)

// TestWhyKnowsEachHold: of a node without a fence the first row that follows from the policies and the node is the
// answer, whatever the status of its policy lists. Where nodefence itself runs the plugin does not know.
func TestWhyKnowsEachHold(t *testing.T) {
	knows := func(r hold.Row) bool {
		return r.Group == hold.ByPolicy || r.Group == hold.ByNode && r.Reason != api.OwnMachine
	}
	seen := func(c holdtest.Case) *Seen {
		s := &Seen{Now: start, Ledger: &api.FenceLedger{}, Policies: c.Policies, Nodes: []corev1.Node{*c.Node}}
		s.Ledger.Status.Leases.ObservedAt = at(0)
		if c.Record != nil {
			s.Fences = []api.NodeFence{*c.Record}
		}
		return s
	}
	holdtest.Try(t, knows, func(c holdtest.Case) api.Reason {
		a, err := seen(c).Why(c.Node.Name)
		if err != nil {
			t.Fatal(err)
		}
		return a.Reason
	})
	holdtest.Try(t, knows, func(c holdtest.Case) api.Reason {
		rows := seen(c).Rows()
		first := c.First(knows)
		alone := hold.Intended(first)
		if len(rows) != 1 || (rows[0].State == LeftAlone) != alone || (rows[0].State == Held) != (first != "" && !alone) {
			t.Errorf("%s: %+v", c.Name(), rows)
		}
		return rows[0].Reason
	})
	for _, r := range hold.Rows() {
		if got := RemedyFor(r.Reason); got != Remedy(r.Remedy) {
			t.Errorf("of %s it says %+v, and not what the table says", r.Reason, got)
		}
	}
}
