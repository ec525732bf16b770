// Package e2e runs whole incidents on a real control plane with simulated machines. Its tests
// do what a user would do, and check what a user would look at afterwards.
package e2e

import (
	"context"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// quick makes a fence's own waits short.
const quick = rig.Quick

// patient tries for longer than any test lasts, so a fence does not give up while a device fails.
var patient = strings.Replace(quick, "retryInterval: 1s", "retryInterval: 1s, restarts: 100", 1)

// labs is the pool of the test process.
var labs = rig.NewPool("e2e")

func TestMain(m *testing.M) { os.Exit(labs.Main(m)) }

// world is a lab with nodefence's kinds, bindings and a policy.
type world struct {
	*rig.Cluster
	t   *testing.T
	ctx context.Context
	log *rig.Log
}

func newWorld(t *testing.T, nodes int, policy string, flags ...string) *world {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), rig.Timeout)
	t.Cleanup(cancel)
	c := labs.ForTest(ctx, t, rig.LabOptions{Nodes: nodes, Flags: flags})
	w := &world{Cluster: c, t: t, ctx: ctx, log: &rig.Log{}}
	must(t, c.Furnish(ctx, policy))
	t.Cleanup(func() { c.Tell(t, w.log) })
	return w
}

// start runs nodefence in process until the test ends.
func (w *world) start(change func(*local.Options)) *rig.InProcess {
	w.t.Helper()
	p, err := w.Start(w.ctx, w.t.TempDir(), w.log, change)
	must(w.t, err)
	w.t.Cleanup(p.Stop)
	return p
}

// unhurried gives a call to a device the longest time that is allowed.
func unhurried(o *local.Options) { o.Settings.DeviceCall = 0 }

// database runs a StatefulSet and returns the node of its first pod.
func (w *world) database(replicas int) string {
	w.t.Helper()
	node, err := w.Database(w.ctx, replicas)
	must(w.t, err)
	return node
}

func (w *world) node(node, verb string) {
	w.t.Helper()
	must(w.t, w.Lab.Node(node, verb))
}

func (w *world) phase(node string, want ...api.Phase) *api.NodeFence {
	w.t.Helper()
	f, err := w.Phase(w.ctx, node, want...)
	must(w.t, err)
	return f
}

// ended waits for the end of a node's fence, and checks its outcome.
func (w *world) ended(node string, outcome api.Reason) *api.NodeFence {
	w.t.Helper()
	f := w.phase(node, api.Finished)
	if f.Status.Outcome != outcome {
		w.t.Errorf("outcome of the fence of %s: %s, want %s: %s", node, f.Status.Outcome, outcome, f.Status.Message)
	}
	return f
}

func (w *world) moved(pod, from string) string {
	w.t.Helper()
	node, err := w.PodRunning(w.ctx, pod, from)
	must(w.t, err)
	return node
}

// words checks which commands a BMC accepted.
func (w *world) words(node, want string) {
	w.t.Helper()
	w.Lab.CheckWords(w.t, node, want)
}

// oneWriter checks that no volume ever had two writers.
func (w *world) oneWriter() {
	w.t.Helper()
	if wrote, err := w.Lab.OneWriter(); err != nil || !wrote {
		w.t.Errorf("somebody wrote: %v; %v", wrote, err)
	}
}

// unmarked checks that nothing of ours is left on a node.
func (w *world) unmarked(node string) {
	w.t.Helper()
	if err := w.Unmarked(w.ctx, node); err != nil {
		w.t.Error(err)
	}
}

func (w *world) unready(node string) {
	w.t.Helper()
	must(w.t, w.Ready(w.ctx, node, corev1.ConditionUnknown))
}

func (w *world) until(what string, ok func() (bool, error)) {
	w.t.Helper()
	must(w.t, rig.Until(w.ctx, what, ok))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
