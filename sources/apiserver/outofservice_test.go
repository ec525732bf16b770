package apiserver

import (
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAnOutOfServiceTaintWithoutARecordIsTold once its node is Ready, again and again (S19, S22).
// That of an open fence is not.
func TestAnOutOfServiceTaintWithoutARecordIsTold(t *testing.T) {
	f := newFakeAPI(t)
	for name, of := range map[string]struct{ ready, by string }{"a": {"True", "fence-a"}, "b": {"Unknown", "lost"}, "c": {"True", "lost"}} {
		n := nodeIn(name, of.ready, 1)
		n.Annotations = map[string]string{api.OutOfServiceBy: of.by}
		f.set(nodesURL, n)
	}
	f.set(fencesURL, fenceOf(""))
	_, b := start(t, f, 50*time.Millisecond)
	again := func(prefix string) func(event.Event) bool {
		return func(e event.Event) bool {
			if e.Type() == events.NodeMarked && e.Subject() != "c" {
				t.Errorf("%s is told of", e.ID())
			}
			return strings.HasPrefix(e.ID(), prefix)
		}
	}
	for range 2 {
		b.Until(t, again("node-c.marked.lost.r"))
		b.Until(t, again("node-b.Ready.Unknown."))
	}
}
