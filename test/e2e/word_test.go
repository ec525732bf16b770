package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestAWordAgainstADevice: a node is cut off from the network and alive. A person who confirms that its
// machine is off is refused while the BMC reads on, also where the BMC was silent for one read, and no
// second writer starts. Once the machine is off and its BMC silent for two reads, the word is taken
// (S1, S2).
func TestAWordAgainstADevice(t *testing.T) {
	w := newWorld(t, 3, quick+"mode: RequireApproval\n")
	w.start(nil)
	victim := w.database(1)
	w.node(victim, "partition")
	w.until("the fence to wait for a person", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, victim)
		return err == nil && f != nil && f.Status.Reason == api.WaitingForApproval, err
	})

	w.confirm(victim, 1)
	w.refusedByDevice(victim, 1)

	must(t, w.Lab.Fault(victim, "hang"))
	w.confirm(victim, 2)
	w.until("the first read without an answer", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, victim)
		if err != nil || f.Status.ConfirmReads == nil || len(f.Status.ConfirmReads.Devices) == 0 {
			return false, err
		}
		first := f.Status.ConfirmReads.Devices[0].First
		return first != nil && first.State == api.PowerUnknown, nil
	})
	must(t, w.Lab.Fault(victim, "none"))
	w.refusedByDevice(victim, 2)
	w.oneWriter()
	if pod := w.Pod(w.ctx, "db-0"); pod.Spec.NodeName != victim {
		t.Errorf("db-0 is on %s", pod.Spec.NodeName)
	}

	must(t, w.Lab.Fault(victim, "hang"))
	w.node(victim, "power-loss")
	w.confirm(victim, 3)
	if a := w.confirmed(victim, 3); a.Result != api.Done || !strings.Contains(a.Message, "no device reads on: ") || !strings.Contains(a.Message, "gave no answer") {
		t.Errorf("a silent device: %+v", a)
	}
	w.moved("db-0", victim)
	w.oneWriter()
	w.words(victim, "")
}

// confirm has the lab's administrator confirm that a node's machine is off, for the nth time.
func (w *world) confirm(node string, n int) {
	w.t.Helper()
	must(w.t, w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/nodefences/"+node).Body(fmt.Appendf(nil,
		`{"spec":{"requests":{"confirmOff":{"fenceNumber":1,"by":"lab-admin","at":"2026-01-01T00:00:%02dZ"}}}}`, n)).Do(w.ctx).Error())
}

// confirmed waits for the last answer to the nth confirmation.
func (w *world) confirmed(node string, n int) (is api.RequestAnswer) {
	w.t.Helper()
	w.until(fmt.Sprintf("the answer to confirmation %d of %s", n, node), func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		if err != nil || f == nil {
			return false, err
		}
		a := f.Status.Answer(api.AskedConfirmOff)
		if a == nil || a.Result == api.Accepted || a.At.Second() != n {
			return false, nil
		}
		is = *a
		return true, nil
	})
	return is
}

// refusedByDevice: the nth confirmation is refused by a device that reads on, and nothing is released.
func (w *world) refusedByDevice(node string, n int) {
	w.t.Helper()
	a := w.confirmed(node, n)
	if a.Result != api.Refused || !strings.Contains(a.Message, " read on at ") || !strings.Contains(a.Message, "the machine is not off. Have nodefence cut its power") {
		w.t.Errorf("confirmation %d: %+v", n, a)
	}
	f, err := w.Fences.Fence(w.ctx, node)
	must(w.t, err)
	if f.Status.Proof != nil || f.Status.Release.StartedAt != nil {
		w.t.Errorf("released\n%s", rig.Story(f))
	}
}
