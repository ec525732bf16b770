package knative

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// database runs a StatefulSet with one volume and returns its pod's node.
func (w *world) database() string {
	w.t.Helper()
	node, err := w.Database(w.ctx, 1)
	must(w.t, err)
	return node
}

// crash is one node's death, from before it to the end of its fence.
type crash struct {
	*world
	node string
	// told has the commands that the BMC got before, and number is the last fence's.
	told   string
	number int64
}

// crash kills a node.
func (w *world) crash(node string) *crash {
	w.t.Helper()
	c := &crash{world: w, node: node}
	var err error
	c.told, err = w.Lab.Words(node)
	must(w.t, err)
	if f, err := w.Fences.Fence(w.ctx, node); err == nil && f != nil {
		c.number = f.Status.FenceNumber
	}
	must(w.t, w.Lab.Node(node, "crash"))
	return c
}

// reach waits until the fence is, or has been, in a phase.
func (c *crash) reach(phase api.Phase) {
	c.t.Helper()
	c.until(fmt.Sprintf("the fence of %s to come to %s", c.node, phase), func() (bool, error) {
		f, err := c.Fences.Fence(c.ctx, c.node)
		if err != nil || f == nil || f.Status.FenceNumber <= c.number {
			return false, nil
		}
		return f.Status.Phase == phase || f.Status.Phase == api.Finished, nil
	})
}

// end waits for the fence's end, and checks all that must hold whatever happened on the way: the
// pod runs elsewhere, the machine was switched off and on once, no volume had two writers, and
// the node is as it was before.
func (c *crash) end() *api.NodeFence {
	c.t.Helper()
	if _, err := c.PodRunning(c.ctx, "db-0", c.node); err != nil {
		c.t.Fatalf("%v\n%s", err, c.story())
	}
	c.reach(api.Finished)
	f, err := c.Phase(c.ctx, c.node, api.Finished)
	must(c.t, err)
	if f.Status.Outcome != api.Recovered {
		c.t.Errorf("outcome %s\n%s", f.Status.Outcome, rig.Story(f))
	}
	told, err := c.Lab.Words(c.node)
	must(c.t, err)
	if got := strings.TrimSpace(strings.TrimPrefix(told, c.told)); got != "off on" {
		c.t.Errorf("the BMC of %s was told %q, want off and on\n%s", c.node, got, rig.Story(f))
	}
	c.oneWriter()
	c.unmarked(c.node)
	return f
}

func (c *crash) story() string {
	f, err := c.Fences.Fence(c.ctx, c.node)
	if err != nil || f == nil {
		return fmt.Sprintf("no fence of %s: %v", c.node, err)
	}
	return fmt.Sprintf("%s: %s\n%s", f.Status.Phase, f.Status.Message, rig.Story(f))
}

func (w *world) oneWriter() {
	w.t.Helper()
	if wrote, err := w.Lab.OneWriter(); err != nil || !wrote {
		w.t.Errorf("somebody wrote: %v; %v", wrote, err)
	}
}

func (w *world) unmarked(node string) {
	w.t.Helper()
	if err := w.Unmarked(w.ctx, node); err != nil {
		w.t.Error(err)
	}
}

// lost counts the Kubernetes Events that report a dead letter about a node's fence.
func (w *world) lost(node string) (int, error) {
	all, err := w.Kube.CoreV1().Events(metav1.NamespaceDefault).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range all.Items {
		if e.Reason == string(api.EventLost) && e.InvolvedObject.Kind == "NodeFence" && e.InvolvedObject.Name == node {
			n += max(1, int(e.Count))
		}
	}
	return n, nil
}
