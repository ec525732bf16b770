package e2e

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const soon = quick + "earlyProbe: {leaseStillDuration: 5s}\n"

// TestEarlyPowerLoss: if a machine is seen off, its pod moves before Kubernetes has lost the
// node, and the BMC gets no command.
func TestEarlyPowerLoss(t *testing.T) {
	w := newWorld(t, 3, soon, "--grace", "2m")
	w.fields()
	w.start(nil)
	victim := w.database(1)
	w.node(victim, "power-loss")
	w.moved("db-0", victim)
	f := w.phase(victim, api.Fenced)
	if !f.Status.Decision.Trigger.Suspicion() {
		t.Errorf("opened for %+v", f.Status.Decision.Trigger)
	}
	// Kubernetes had not lost the node: nodefence set Ready to Unknown.
	if c := w.readiness(victim); c.Status != corev1.ConditionUnknown || c.Reason != api.NotReadyReason {
		t.Errorf("Ready is %s: %s", c.Status, c.Reason)
	}
	w.words(victim, "")
	w.oneWriter()
	checkProof(t, f)
	w.node(victim, "power-on")
	w.phase(victim, api.Finished)
	w.words(victim, "")
	w.unmarked(victim)
}

// fields checks which values the policy's field accepts, and its default.
func (w *world) fields() {
	w.t.Helper()
	err := w.Apply(w.ctx, rig.Policy("bad", "earlyProbe: {leaseStillDuration: 1s}\n"))
	if err == nil || !strings.Contains(err.Error(), "leaseStillDuration must be between 5s and 10m") {
		w.t.Errorf("a second is enough for a Lease to be still: %v", err)
	}
	must(w.t, w.Apply(w.ctx, rig.Policy("nobody", "selector: {matchLabels: {nobody: has}}\nearlyProbe: {}\n")))
	p, err := w.Fences.Policy(w.ctx, "nobody")
	must(w.t, err)
	if p.Spec.EarlyProbe == nil || p.Spec.EarlyProbe.LeaseStillDuration.Get() != 12*time.Second {
		w.t.Errorf("unless set it is %+v", p.Spec.EarlyProbe)
	}
}

func (w *world) readiness(node string) corev1.NodeCondition {
	w.t.Helper()
	n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	must(w.t, err)
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	w.t.Fatalf("%s has no Ready condition", node)
	return corev1.NodeCondition{}
}

// TestEarlyButAlive: one machine's Lease stands still and moves again; another node is cut
// off from the API server. Neither is touched or marked while only its Lease stands still.
// The second is fenced after Kubernetes has lost it, as usual.
func TestEarlyButAlive(t *testing.T) {
	w := newWorld(t, 5, soon, "--grace", "1m") // until then nothing is done about the second
	w.start(nil)
	w.node("node-1", "lease-stop")
	w.node("node-2", "partition")
	for _, n := range []string{"node-1", "node-2"} {
		w.held(n, api.LeaseStandsStill)
		w.words(n, "")
		w.unmarked(n)
	}
	w.node("node-1", "lease-resume")
	if f := w.phase("node-1", api.Finished); f.Status.Outcome != api.HealedBeforeFence {
		t.Errorf("%s: %s\n%s", f.Status.Outcome, f.Status.Message, rig.Story(f))
	}
	w.words("node-1", "")
	w.unmarked("node-1")

	w.phase("node-2", api.Recovering)
	lost := w.readiness("node-2").LastTransitionTime
	off, err := w.Lab.Commands("node-2")
	must(t, err)
	if len(off) != 2 || off[0].Command != "off" || off[0].Time.Before(lost.Time) {
		t.Errorf("the BMC was told %v; Kubernetes lost the node at %s", off, lost.Format(time.RFC3339))
	}
	f, err := w.Fences.Fence(w.ctx, "node-2")
	must(t, err)
	if !f.Status.Decision.Trigger.Suspicion() {
		t.Errorf("opened for %+v", f.Status.Decision.Trigger)
	}
	w.node("node-2", "heal")
	w.phase("node-2", api.Finished)
	w.words("node-2", "off on")
	w.unmarked("node-2")
}

// TestEarlyStorm: five of ten machines lose their power at once, and four are allowed: none of
// the nodes is marked. Two come back, and the work of the others is released, without a command.
func TestEarlyStorm(t *testing.T) {
	// When the first may be read, the last must have missed a renewal already.
	w := newWorld(t, 10, stormPolicy+"earlyProbe: {leaseStillDuration: 8s}\n", "--grace", "2m")
	w.start(nil)
	dead := []string{"node-0", "node-1", "node-2", "node-3", "node-4"}
	w.allAtOnce(dead, "power-loss")
	for _, n := range dead {
		w.held(n, api.TooManyUnhealthy)
	}
	for _, n := range dead {
		w.words(n, "")
		w.unmarked(n)
	}
	w.allAtOnce(dead[:2], "power-on")
	for _, n := range dead[:2] {
		if f := w.phase(n, api.Finished); f.Status.Outcome != api.HealedBeforeFence {
			t.Errorf("%s ended as %s\n%s", n, f.Status.Outcome, rig.Story(f))
		}
	}
	for _, n := range dead[2:] {
		w.phase(n, api.Fenced)
	}
	for _, n := range dead {
		w.words(n, "")
	}
}
