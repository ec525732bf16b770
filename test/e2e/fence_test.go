package e2e

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

func TestCrashedNodeIsFencedAndItsPodMoves(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.start(nil)
	victim := w.database(1)
	w.node(victim, "crash")
	w.moved("db-0", victim)
	f := w.phase(victim, api.Finished)
	w.words(victim, "off on")
	w.oneWriter()
	w.unmarked(victim)
	if f.Status.Outcome != api.Recovered {
		t.Errorf("outcome %s", f.Status.Outcome)
	}
	checkProof(t, f)
	checkAttached(w, victim)
	w.until("no Lease to stand still in the ledger", func() (bool, error) {
		l, err := w.Fences.Ledger(w.ctx)
		return err == nil && len(l.Status.Leases.Still) == 0, nil
	})
}

// checkProof checks that both reads are in the record, a settle apart, and bound to this fence.
func checkProof(t *testing.T, f *api.NodeFence) {
	t.Helper()
	p := f.Status.Proof
	if p == nil || len(p.Reads) != 2 {
		t.Fatalf("proof %+v", p)
	}
	if apart := p.Reads[1].At.Sub(p.Reads[0].At.Time); apart < facts.Settle {
		t.Errorf("the two reads are %s apart", apart)
	}
	if p.FenceUID != f.UID || p.NodeUID != f.Status.Decision.NodeUID || p.FenceNumber != f.Status.FenceNumber {
		t.Errorf("the proof is of another fence: %+v", p)
	}
}

// checkAttached checks that no volume is attached to the node that was fenced.
func checkAttached(w *world, victim string) {
	w.t.Helper()
	all, err := w.Kube.StorageV1().VolumeAttachments().List(w.ctx, metav1.ListOptions{})
	must(w.t, err)
	for _, a := range all.Items {
		if a.Spec.NodeName == victim {
			w.t.Errorf("%s is still attached to %s", a.Name, victim)
		}
	}
}

func TestPowerLossNeedsNoCommandAndStaysOff(t *testing.T) { // S9, S12
	w := newWorld(t, 3, quick)
	w.start(nil)
	victim := w.database(1)
	w.node(victim, "power-loss")
	w.moved("db-0", victim)
	f := w.phase(victim, api.Fenced)
	w.words(victim, "")
	if f.Status.Reason != api.StaysOff || f.Status.Power.SwitchedByUs {
		t.Errorf("%s: %s", f.Status.Reason, f.Status.Message)
	}
	w.oneWriter()
	w.node(victim, "power-on")
	w.phase(victim, api.Finished)
	w.words(victim, "")
	w.unmarked(victim)
}

func TestPartitionedNodeIsCutBeforeRelease(t *testing.T) { // S1
	w := newWorld(t, 3, quick)
	w.start(nil)
	victim := w.database(1)
	w.node(victim, "partition")
	w.moved("db-0", victim)
	w.words(victim, "off")
	w.oneWriter()
	w.node(victim, "heal")
	w.phase(victim, api.Finished)
	w.words(victim, "off on")
	w.oneWriter()
	w.unmarked(victim)
}

// TestReplayedEventsDoNothing posts the whole recorded event log of a finished
// fence again, shuffled, ten times (S18).
func TestReplayedEventsDoNothing(t *testing.T) {
	w := newWorld(t, 3, quick)
	p := w.start(nil)
	victim := w.database(1)
	w.node(victim, "crash")
	w.moved("db-0", victim)
	before := w.phase(victim, api.Finished)
	log, err := p.Broker.Events(w.ctx)
	must(t, err)
	if len(log) < 6 {
		t.Fatalf("only %d events were recorded", len(log))
	}
	server := httptest.NewServer(p.HTTP())
	defer server.Close()
	for round := range 10 {
		rng := rand.New(rand.NewPCG(uint64(round), 7))
		rng.Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
		for _, e := range log {
			e.SetID(e.ID() + ".again" + string(rune('a'+round))) // so that the broker does not drop it as a duplicate
			body, err := json.Marshal(e)
			must(t, err)
			r, err := http.Post(server.URL, "application/cloudevents+json", bytes.NewReader(body))
			must(t, err)
			_ = r.Body.Close()
			if r.StatusCode != http.StatusAccepted {
				t.Fatalf("posting answered %s", r.Status)
			}
		}
	}
	w.until("every event to be handled", func() (bool, error) { return p.Broker.Idle(w.ctx) })
	w.words(victim, "off on")
	after, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	if d := cmp.Diff(before.Status, after.Status); d != "" || after.Status.FenceNumber != before.Status.FenceNumber {
		t.Errorf("the record changed:\n%s", d)
	}
	if dead, err := p.Broker.DeadLetters(w.ctx); err != nil || len(dead) > 0 {
		t.Errorf("dead letters: %v %v", dead, err)
	}
}

func TestHealedBeforePowerIsNotCut(t *testing.T) { // S17
	w := newWorld(t, 3, patient)
	victim := w.database(1)
	// The device hangs, so that the fence waits right before its first command.
	must(t, w.Lab.Fault(victim, "hang"))
	before := w.userMarks(victim)
	w.start(nil)
	w.node(victim, "lease-stop")
	w.node(victim, "partition")
	w.phase(victim, api.Fencing)
	w.node(victim, "heal")
	w.node(victim, "lease-resume")
	must(t, w.Ready(w.ctx, victim, corev1.ConditionTrue))
	must(t, w.Lab.Fault(victim, "none"))
	w.ended(victim, api.HealedBeforeFence)
	w.words(victim, "")
	w.sameMarks(victim, before)
}

func TestHealedAfterPowerRunsToItsEnd(t *testing.T) { // S25, S22
	w := newWorld(t, 3, quick)
	victim := w.database(1)
	must(t, w.Lab.Fault(victim, "slow=6s"))
	before := w.userMarks(victim)
	w.start(nil)
	w.node(victim, "partition")
	w.until("the power-off to be accepted", func() (bool, error) {
		words, err := w.Lab.Words(victim)
		return words == "off", err
	})
	w.node(victim, "heal")
	w.phase(victim, api.Finished)
	w.words(victim, "off on")
	w.oneWriter()
	w.sameMarks(victim, before)
}

// marks are a user's own: what nodefence must leave byte for byte (S22).
type marks struct {
	Unschedulable bool
	Taints        []corev1.Taint
	Labels        map[string]string
}

// userMarks cordons, taints and labels a node as a user would.
func (w *world) userMarks(node string) marks {
	w.t.Helper()
	w.until("the user's marks to be set", func() (bool, error) {
		n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		n.Spec.Unschedulable = true
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "example.com/mine", Value: "yes", Effect: corev1.TaintEffectPreferNoSchedule})
		n.Labels["example.com/rack"] = "b7"
		_, err = w.Kube.CoreV1().Nodes().Update(w.ctx, n, metav1.UpdateOptions{FieldManager: "kubectl"})
		return err == nil, nil
	})
	return w.marksOf(node)
}

func (w *world) marksOf(node string) marks {
	w.t.Helper()
	n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	must(w.t, err)
	m := marks{Unschedulable: n.Spec.Unschedulable, Labels: n.Labels}
	for _, taint := range n.Spec.Taints {
		// Kubernetes' own taints come and go with the node's health.
		if taint.Key != corev1.TaintNodeUnreachable && taint.Key != corev1.TaintNodeNotReady && taint.Key != corev1.TaintNodeUnschedulable {
			m.Taints = append(m.Taints, taint)
		}
	}
	return m
}

func (w *world) sameMarks(node string, want marks) {
	w.t.Helper()
	if d := cmp.Diff(want, w.marksOf(node)); d != "" {
		w.t.Errorf("the user's marks changed:\n%s", d)
	}
}
