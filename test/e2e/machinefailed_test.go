package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestFailedMachine: a Machine goes to phase Failed while its node is well. The node is fenced at
// once, by the device that switches its power; a node that is to be left alone is not.
func TestFailedMachine(t *testing.T) {
	w := newWorld(t, 5, quick+"machines: {selector: {}}\n")
	m, _ := w.instances()
	m.cloud.OnStop = nil // what switches these machines is their BMC
	db := w.database(1)
	other := map[string]string{"node-1": "node-2"}[db]
	if other == "" {
		other = "node-1"
	}
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	patch := func(machine, sub, text string) {
		t.Helper()
		var subs []string
		if sub != "" {
			subs = []string{sub}
		}
		_, err := m.api.Patch(w.ctx, machine, types.MergePatchType, []byte(text), metav1.PatchOptions{}, subs...)
		must(t, err)
	}
	patch(other, "", `{"metadata":{"annotations":{"cluster.x-k8s.io/skip-remediation":""}}}`)
	for _, machine := range []string{other, db} {
		patch(machine, "status", fmt.Sprintf(`{"status":{"phase":"Failed","errorReason":"InvalidConfiguration","nodeRef":{"kind":"Node","name":%q}}}`, machine))
	}
	f := w.phase(db, api.Finished)
	w.moved("db-0", db)
	w.oneWriter()
	if x := f.Status.Decision.Trigger; !x.OfMachine() || x.Machine == nil || x.Machine.Owner == "" || !strings.HasPrefix(x.Reason, string(api.MachineFailed)) || f.Status.Outcome != api.Recovered {
		t.Errorf("trigger %+v, outcome %s", x, f.Status.Outcome)
	}
	w.words(db, "off on")
	w.unmarked(db)
	// Its Machine is still Failed: it waits, and the other is left alone, and both are reported.
	w.until("the policy to say so", func() (bool, error) {
		p, err := w.Fences.Policy(w.ctx, "default")
		if err != nil || len(p.Status.FailedMachines) != 2 {
			return false, err
		}
		for _, m := range p.Status.FailedMachines {
			if m.NodeName == other && m.Held == "" || m.NodeName == db && (m.NotBefore == nil || m.NotBefore.Sub(f.Status.OpenedAt.Time).Minutes() < 9) {
				return false, nil
			}
		}
		return true, nil
	})
	if f, err := w.Fences.Fence(w.ctx, other); f != nil || err != nil {
		t.Errorf("a Machine that is to be left alone: %+v %v", f, err)
	}
	w.words(other, "")
}
