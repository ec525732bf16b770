package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/test/rig"
)

// TestLostNodesAreReleased: of four nodes three lose their power for good. Nothing begins, until a person says that
// they are lost, and of one that its machine is off: its work is released, and no machine is cut. The other two, of
// which nobody has said that they are off, are held as a storm (S14, S15).
func TestLostNodesAreReleased(t *testing.T) {
	w := newWorld(t, 4, quick)
	w.start(nil)
	dead := w.database(1)
	others := []string{w.besides(4, dead)}
	others = append(others, w.besides(4, dead, others[0]))
	all := append([]string{dead}, others...)
	for _, n := range all {
		must(t, w.Lab.Fault(n, "hang")) // the BMC has no power either
		w.node(n, "power-loss")
	}
	w.held(dead, api.MostLeasesStale)
	w.confirm(dead, 1)

	w.until("the ledger to take the statement", func() (bool, error) {
		l, err := w.Fences.Ledger(w.ctx)
		if err != nil {
			return false, err
		}
		l.Spec.Lost = &api.LostNodes{By: "lab-admin", Reason: "the rack has burnt", Until: observed.StampOf(time.Now().Add(time.Hour))}
		for _, s := range l.Status.Leases.Still {
			l.Spec.Lost.Nodes = append(l.Spec.Lost.Nodes, api.LostNode{NodeName: s.NodeName, Renewed: s.Renewed})
		}
		return len(l.Spec.Lost.Nodes) == len(all) && w.setLedger("", l) == nil, nil
	})
	w.moved("db-0", dead)
	f, err := w.Fences.Fence(w.ctx, dead)
	must(t, err)
	if said := "lab-admin says that the node is lost: the rack has burnt"; !strings.Contains(rig.Story(f), said) {
		t.Errorf("the history does not say %q:\n%s", said, rig.Story(f))
	}
	for _, n := range others {
		w.held(n, api.TooManyUnhealthy)
	}
	for _, n := range all {
		w.words(n, "")
	}
	if l, err := w.Fences.Ledger(w.ctx); err != nil || admission.Lost(l, dead, time.Now()) == nil {
		t.Errorf("the statement does not stand: %v", err)
	}
}
