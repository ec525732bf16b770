package e2e

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/spans"
)

// TestAFenceIsOneTrace, though nodefence is ended in its middle, and goes on in a process that
// knows nothing of the first but the record.
func TestAFenceIsOneTrace(t *testing.T) {
	w := newWorld(t, 3, patient)
	received := &spans.Receiver{}
	collector := httptest.NewServer(received)
	t.Cleanup(collector.Close)
	traced := func(o *local.Options) { o.Settings.Traces.Endpoint = collector.URL }
	must(t, w.Lab.Fault("node-1", "hang"))
	p := w.start(traced)
	must(t, p.Watching(w.ctx))
	w.node("node-1", "crash")
	w.phase("node-1", api.Fencing)
	p.Stop()
	must(t, w.Lab.Fault("node-1", "none"))
	before := len(received.All())
	w.start(traced)
	w.ended("node-1", api.Recovered)

	all := w.trace(received, "node-1")
	if before == 0 || len(all) <= before {
		t.Errorf("%d spans came before the restart, and %d are in the trace", before, len(all))
	}
	for _, name := range []string{"source sends node.unhealthy", "gate Pending", "isolate Isolating", "power Fencing", "cleanup Releasing", "power PoweringOn", "recover Recovering"} {
		if tree := spans.Tree(all); !strings.Contains(tree, " "+name+"\n") {
			t.Errorf("there is no span %q in\n%s", name, tree)
		}
	}
	machines, err := w.Lab.Machines()
	must(t, err)
	for _, m := range machines {
		showsNoPassword(t, all, m.Password)
	}
}

// showsNoPassword looks for the password of a BMC in each attribute of each span (S29). An error may
// name a Secret: the restart can end nodefence in the middle of a Secret's read.
func showsNoPassword(t *testing.T, all []spans.Span, password string) {
	t.Helper()
	if len(password) < 8 {
		t.Fatalf("the password %q is too short to look for", password)
	}
	for _, s := range all {
		for key, value := range s.Attrs {
			if strings.Contains(value, password) {
				t.Errorf("span %s: %s is %s", s.Name, key, value)
			}
		}
	}
}

// trace waits for the whole trace of a node's fence, and says what is wrong with it.
func (w *world) trace(r *spans.Receiver, node string) (all []spans.Span) {
	w.t.Helper()
	var faults []string
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("faults %q, refused %q, in\n%s", faults, r.Wrong(), spans.Tree(all))
		}
	})
	w.until("the trace of the fence of "+node, func() (bool, error) {
		all = r.OfFence(node)
		faults = spans.Faults(all)
		return len(all) > 0 && len(faults) == 0, nil
	})
	return all
}
