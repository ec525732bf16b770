package e2e

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
	"github.com/nodefence/nodefence/test/rig"
)

// forgedReport is a FenceReport as an administrator of the cluster may write one.
const forgedReport = `
apiVersion: nodefence.io/v1alpha1
kind: FenceReport
metadata: {name: x-1}
spec: {nodeName: node-1, fenceUID: x, fenceNumber: 1, trigger: Request, since: "2026-01-01T00:00:00.000000Z", openedAt: "2026-01-01T00:00:00.000000Z", closedAt: "2026-01-01T00:00:00.000000Z", outcome: Recovered}
`

// TestEachFenceLeavesAReport: a node is fenced twice, once by its device and once by a person's word. Then its record is
// deleted. Both reports are there, with who, why, proof and times; the history tells them, and nobody changes them
// (S28).
func TestEachFenceLeavesAReport(t *testing.T) {
	w := newWorld(t, 3, quick+"mode: RequireApproval\n")
	w.start(nil)
	victim := w.database(1)
	w.node(victim, "crash")
	w.waitsForApproval(victim, 1)
	w.writesRequest(victim, "approve", `{"fenceNumber":1,"by":"lab-admin","at":"2026-01-01T00:00:01Z","reason":"go on"}`)
	first := w.phase(victim, api.Finished)

	must(t, w.Lab.Fault(victim, "hang"))
	w.node(victim, "power-loss")
	w.waitsForApproval(victim, 2)
	w.writesRequest(victim, "confirmOff", `{"fenceNumber":2,"by":"lab-admin","at":"2026-01-01T00:00:02Z","reason":"plug pulled"}`)
	w.until("the machine to be taken for off", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, victim)
		return f != nil && f.Status.FenceNumber == 2 && f.Status.Release.DoneAt != nil, err
	})
	must(t, w.Lab.Fault(victim, "none"))
	w.node(victim, "power-on")
	w.until("the second fence to end", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, victim)
		return f != nil && f.Status.FenceNumber == 2 && f.Status.Phase == api.Finished, err
	})
	second, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	must(t, w.Fences.DeleteFence(w.ctx, victim, second.UID, second.ResourceVersion))

	w.reported(first, api.ProofSeenOff, "lab-admin (Approve: Done, go on)")
	w.reported(second, api.ProofConfirmed, "lab-admin (ConfirmOff: Done, plug pulled)")
	w.unforgeable(api.ReportName(second.UID, 2))
}

// patchOwn patches one of nodefence's objects as the administrator of the cluster.
func (w *world) patchOwn(path, body string) error {
	return w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/" + path).Body([]byte(body)).Do(w.ctx).Error()
}

// waitsForApproval waits until the nth fence of a node waits for a person.
func (w *world) waitsForApproval(node string, n int64) {
	w.t.Helper()
	w.until("the fence to wait for a person", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		return f != nil && f.Status.FenceNumber == n && f.Status.Reason == api.WaitingForApproval, err
	})
}

// writesRequest writes one of spec.requests.
func (w *world) writesRequest(node, request, body string) {
	w.t.Helper()
	must(w.t, w.patchOwn("nodefences/"+node, `{"spec":{"requests":{"`+request+`":`+body+`}}}`))
}

// reported compares the report of a fence with its record, and with what history tells.
func (w *world) reported(f *api.NodeFence, proof api.ProofKind, by string) {
	w.t.Helper()
	r, err := w.Fences.FenceReport(w.ctx, api.ReportName(f.UID, f.Status.FenceNumber))
	must(w.t, err)
	if r == nil {
		w.t.Fatalf("fence %d has no report\n%s", f.Status.FenceNumber, rig.Story(f))
	}
	if r.Spec.Outcome != f.Status.Outcome || r.Spec.Proof == nil || r.Spec.Proof.Type != proof || r.Spec.ReleasedAt == nil || !r.Spec.OpenedAt.Equal(f.Status.OpenedAt) {
		w.t.Errorf("fence %d: %+v\n%s", f.Status.FenceNumber, r.Spec, rig.Story(f))
	}
	code, said := w.plugin("history", f.Name, "-o", "json")
	var told struct {
		Items []view.Past `json:"items"`
	}
	if err := json.Unmarshal([]byte(said), &told); code != 0 || err != nil {
		w.t.Fatalf("exit code %d (%v): %s", code, err, said)
	}
	i := slices.IndexFunc(told.Items, func(p view.Past) bool { return p.FenceNumber == f.Status.FenceNumber })
	if i < 0 || !slices.Contains(told.Items[i].By, by) || told.Items[i].ProofType() != string(proof) || told.Items[i].Ended == nil || !strings.Contains(told.Items[i].Why, "Ready=Unknown") {
		w.t.Errorf("history lacks fence %d by %s: %s", f.Status.FenceNumber, by, said)
	}
}

// unforgeable: nobody changes a report, an administrator of the cluster neither, and who runs a function creates and
// deletes none, but for recover and policystatus.
func (w *world) unforgeable(name string) {
	w.t.Helper()
	for _, body := range []string{`{"spec":{"outcome":"Aborted"}}`, `{"metadata":{"labels":{"a":"b"}}}`} {
		if err := w.patchOwn("fencereports/"+name, body); err == nil || !strings.Contains(err.Error(), "FenceReport") {
			w.t.Errorf("%s: %v", body, err)
		}
	}
	r, err := w.Fences.FenceReport(w.ctx, name)
	must(w.t, err)
	again := &api.FenceReport{Spec: r.Spec}
	again.Name = name
	if err := w.Fences.CreateFenceReport(w.ctx, again); !errors.Is(err, kube.ErrConflict) {
		w.t.Errorf("a second report: %v", err)
	}
}
