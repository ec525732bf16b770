package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// TestACordonThatAPersonWantsIsKept: kubectl fence cordon during a fence outlasts it, an Event on the Node says how,
// and the cordon of a node that nobody wants cordoned is removed (S22).
func TestACordonThatAPersonWantsIsKept(t *testing.T) {
	w := newWorld(t, 4, quick)
	w.start(nil)
	c, err := cluster.New(w.Config)
	must(t, err)
	cordoned := func(node string) bool {
		t.Helper()
		n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
		must(t, err)
		return n.Spec.Unschedulable
	}
	for node, kept := range map[string]bool{"node-1": true, "node-2": false} {
		w.node(node, "crash")
		w.until(node+" to be cordoned", func() (bool, error) { return cordoned(node), nil })
		if kept {
			must(t, c.Cordon(w.ctx, node, cluster.DryRunNone))
		}
		w.ended(node, api.Recovered)
		if got := cordoned(node); got != kept {
			t.Errorf("%s is cordoned after its fence: %v", node, got)
		}
		all, err := w.Kube.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{FieldSelector: "reason=NodeCordoned,involvedObject.name=" + node})
		must(t, err)
		if len(all.Items) != 1 || !strings.HasSuffix(all.Items[0].Message, "to keep it cordoned: kubectl fence cordon "+node) {
			t.Errorf("Events of %s: %+v", node, all.Items)
		}
	}
	if err := c.Cordon(w.ctx, "nobody", cluster.DryRunNone); err == nil {
		t.Error("a Node was made of a wrong name")
	}
}
