package apiserver

import (
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
)

// TestFenceRequestsAreWatched in the namespaces that count, and so is the fence of their nodes.
func TestFenceRequestsAreWatched(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 1))
	_, b := startWith(t, f, Options{Resync: time.Hour, RequestNamespaces: ask.Namespaces{"own"}})
	f.set(requestsURL, &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "a-x", UID: "u", Generation: 1}, Spec: api.FenceRequestSpec{NodeName: "a"}})
	about := func(e event.Event) bool { return e.Type() == events.FenceRequestChanged }
	e := b.Until(t, about)
	if got, err := events.ReadFenceRequestChanged(e); err != nil || e.Subject() != "a" || got != (events.ObjectReference{Namespace: "own", Name: "a-x", UID: "u"}) {
		t.Error(e, err)
	}
	f.set(fencesURL, fenceOf("1"))
	if e := b.Until(t, about); !strings.HasPrefix(e.ID(), "u.f") {
		t.Error(e)
	}
}

// TestAClusterWithoutFenceRequests is served all the same: that they can't be watched is said once,
// and tried again, and the source is ready.
func TestAClusterWithoutFenceRequests(t *testing.T) {
	f := newFakeAPI(t)
	f.forbid(requestsURL)
	f.set(nodesURL, nodeIn("a", "Unknown", 1))
	s, b := startWith(t, f, Options{Resync: time.Hour, RequestNamespaces: ask.Namespaces{"own"}})
	if e := b.Next(t); e.Type() != events.NodeUnhealthy {
		t.Errorf("got %s", e)
	}
	eventually(t, func() bool {
		s.standing.mu.Lock()
		defer s.standing.mu.Unlock()
		return s.standing.locked(fenceRequests + "/own").said
	})
	s.standing.mu.Lock()
	s.standing.locked(fenceRequests + "/own").broken = s.now().Add(-2 * brokenTooLong)
	s.standing.mu.Unlock()
	eventually(t, func() bool { return s.Ready() == nil })
}
