package knative

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/spans"
)

// TestACrashedNodeIsFencedOverKnative is the main story: every hop is an event
// through the real broker, and names the span that sent it.
func TestACrashedNodeIsFencedOverKnative(t *testing.T) {
	w := newWorld(t)
	received := &spans.Receiver{}
	collector := httptest.NewServer(received)
	t.Cleanup(collector.Close)
	w.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}
	w.deploy()
	victim := w.database()
	w.crash(victim).end()
	w.oneTrace(received, victim)
	if n, err := w.lost(victim); err != nil || n > 0 {
		t.Errorf("%d dead letters in a run without faults: %v", n, err)
	}

	// An event with a misspelt type goes to no function. It is reported, and leads to nothing.
	must(t, w.send(system, broker, plain("misspelt", "io.nodefence.request.fenc.v1", victim, "{}")))
	w.until("the misspelt type to be told of", func() (bool, error) {
		log, err := os.ReadFile(filepath.Join(w.dir, "nodefence-deadletter.log"))
		return strings.Contains(string(log), "did you mean io.nodefence.request.fence.v1?"), err
	})
	told, err := os.ReadFile(filepath.Join(w.dir, "nodefence-deadletter.log"))
	if n := strings.Count(string(told), `"msg":"unknown type"`); err != nil || n != 1 {
		t.Errorf("%d types are unknown, one was sent: %v\n%s", n, err, told)
	}
}

// oneTrace checks that the fence of a node is one trace, with a span of each function that worked on
// it and of the source, each under the one that sent its event.
func (w *world) oneTrace(r *spans.Receiver, node string) {
	w.t.Helper()
	var all []spans.Span
	var faults []string
	err := rig.Until(w.ctx, "the trace of the fence of "+node, func() (bool, error) {
		all = r.OfFence(node)
		faults = spans.Faults(all)
		return len(all) > 0 && len(faults) == 0, nil
	})
	tree := spans.Tree(all)
	if err != nil {
		w.t.Fatalf("%v: faults %q, refused %q, in\n%s", err, faults, r.Wrong(), tree)
	}
	for _, name := range []string{"source sends node.unhealthy", "gate Pending", "isolate Isolating", "power Fencing", "cleanup Releasing", "power PoweringOn", "recover Recovering"} {
		if !strings.Contains(tree, " "+name+"\n") {
			w.t.Errorf("there is no span %q in\n%s", name, tree)
		}
	}
	for _, s := range all {
		if f := s.Attrs["nodefence.function"]; f != "" && s.Service != "nodefence-"+f {
			w.t.Errorf("span %s is of service %s", s.Name, s.Service)
		}
	}
}
