package admission_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// lostWorld is a fence of one of ten nodes, of which the first seven are dead, and a statement that these are lost.
func lostWorld() (*api.NodeFence, admission.Picture, *api.FenceLedger) {
	f, c, l := fencetest.World(fencetest.Start)
	l.Spec.Lost = &api.LostNodes{By: "ann", Reason: "the rack burnt", Until: observed.StampOf(fencetest.Start.Add(time.Hour))}
	for i := range 7 {
		n := &c.Nodes[i]
		n.Unhealthy = true
		mark := fmt.Sprintf("2026-01-01T00:00:0%d.000000Z", i)
		l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: n.Name, Renewed: mark, Stale: true, Since: observed.StampOf(fencetest.Start.Add(-time.Minute))})
		l.Spec.Lost.Nodes = append(l.Spec.Lost.Nodes, api.LostNode{NodeName: n.Name, Renewed: mark})
	}
	f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "bob", At: metav1.NewTime(fencetest.Start)}}
	return f, c, l
}

// answer gives the word of a fence its answer.
func answer(f *api.NodeFence, is api.AnswerResult) {
	f.Status.Answers = []api.RequestAnswer{{Request: api.AskedConfirmOff, At: api.AnswerAt(f.Spec.Requests.ConfirmOff.At), Result: is}}
}

// TestALostNodesWorkIsReleased: where most Leases stand still, a statement that their nodes are lost and a word that a
// machine is off release its work. The statement is named, is over after its time and at most a day, and is about a
// Lease that has not moved since. Without the word the storm holds, and every other limit holds in any case (S14, S15).
func TestALostNodesWorkIsReleased(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *admission.Picture, *api.FenceLedger)
		want   api.Reason
	}{
		"said to be lost, and off": {nil, ""},
		"nothing is said":          {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) { l.Spec.Lost = nil }, api.MostLeasesStale},
		"nobody says it":           {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) { l.Spec.Lost.By = "" }, api.MostLeasesStale},
		"the statement is over": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Spec.Lost.Until = observed.StampOf(fencetest.Start)
		}, api.MostLeasesStale},
		"the statement is for too long": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Spec.Lost.Until = observed.StampOf(fencetest.Start.Add(admission.LostFor + time.Second))
		}, api.MostLeasesStale},
		"two others stand still too, and as many move": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Spec.Lost.Nodes = l.Spec.Lost.Nodes[:5]
		}, ""},
		"more others stand still than move": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Spec.Lost.Nodes = l.Spec.Lost.Nodes[:3]
		}, api.MostLeasesStale},
		"its Lease has moved since": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Leases.Still[0].Renewed = "2026-01-01T00:01:00.000000Z"
		}, api.TooManyUnhealthy},
		"those of four others have moved since": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			for i := range 4 {
				l.Status.Leases.Still[i+1].Renewed = "2026-01-01T00:01:00.000000Z"
			}
		}, api.MostLeasesStale},
		"another node is lost": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Spec.Lost.Nodes = l.Spec.Lost.Nodes[1:]
		}, api.TooManyUnhealthy},
		"no word that it is off":      {func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) { f.Spec.Requests.ConfirmOff = nil }, api.TooManyUnhealthy},
		"its device refutes the word": {func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) { answer(f, api.Refused) }, api.TooManyUnhealthy},
		"the word is heard":           {func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) { answer(f, api.Accepted) }, ""},
		"the word was taken before":   {func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) { answer(f, api.Done) }, api.TooManyUnhealthy},
		"nothing waited for the word": {func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) { answer(f, api.NotNeeded) }, api.TooManyUnhealthy},
		"all slots are taken": {func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			other := fencetest.Running("n1", "f1", api.Fencing)
			c.Fences = append(c.Fences, other)
			l.Status.Reservations = []api.Reservation{{NodeName: "n1", FenceUID: "f1", FenceNumber: 1, At: observed.StampOf(fencetest.Start)}}
		}, api.TooManyConcurrent},
		"fencing is stopped": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) { l.Spec.Stop = true }, api.Stopped},
	} {
		t.Run(name, func(t *testing.T) {
			f, p, l := lostWorld()
			if c.change != nil {
				c.change(f, &p, l)
			}
			var got api.Reason
			if v := admission.Admit(f, p, l, fencetest.Start); v != nil {
				got = v.Reason
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if c.want == "" && (len(l.Status.Storms) != 1 || !slices.ContainsFunc(l.Status.Reservations, func(r api.Reservation) bool { return r.NodeName == "n0" })) {
				t.Errorf("the ledger has %d storms, and reservations %+v", len(l.Status.Storms), l.Status.Reservations)
			}
		})
	}
}

// TestALostNodeIsNotBraked: a fence that goes on because of the two statements is not sent back for the storm, and
// says who has made them.
func TestALostNodeIsNotBraked(t *testing.T) {
	f, p, l := lostWorld()
	if v := admission.Admit(f, p, l, fencetest.Start); v != nil {
		t.Fatal(v)
	}
	f.Status.Phase = api.Fencing
	b := admission.Against(f, nil, observed.Node{}, l, fencetest.Start)
	if b.Storm || b.Lost != "ann says that the node is lost: the rack burnt" {
		t.Errorf("%+v", b)
	}
	for phase, storm := range map[api.Phase]bool{api.Releasing: false, api.Fencing: true, api.Isolating: true} {
		f.Status.Phase = phase
		answer(f, api.Done)
		if b := admission.Against(f, nil, observed.Node{}, l, fencetest.Start); b.Storm != storm {
			t.Errorf("its word was taken, in %s: %+v", phase, b)
		}
	}
	f.Spec.Requests.ConfirmOff = nil
	if b := admission.Against(f, nil, observed.Node{}, l, fencetest.Start); !b.Storm || b.Lost != "" {
		t.Errorf("without a word: %+v", b)
	}
}
