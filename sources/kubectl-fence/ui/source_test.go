package ui

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// troubled is a cluster whose source is gone, and which refuses the record of node a.
type troubled struct {
	watched
	leases, events atomic.Int32
}

func (s *troubled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ago := time.Now().UTC().Add(-2 * time.Minute)
	switch {
	case strings.HasSuffix(r.URL.Path, "/namespaces/ns/leases/nodefence-source"):
		s.leases.Add(1)
		kubetest.Answer(w, fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"nodefence-source","namespace":"ns"},"spec":{"holderIdentity":"s-1","renewTime":%q}}`,
			ago.Format("2006-01-02T15:04:05.000000Z")))
	case strings.HasSuffix(r.URL.Path, "/namespaces/default/events"):
		s.events.Add(1)
		kubetest.Answer(w, fmt.Sprintf(`{"apiVersion":"v1","kind":"EventList","items":[{"metadata":{"name":"e"},"involvedObject":{"kind":"Node","name":"a"},"reason":"RecordNotSaved","message":"[fence] its quota is used up","lastTimestamp":%q}]}`,
			ago.Format(time.RFC3339)))
	default:
		s.watched.ServeHTTP(w, r)
	}
}

// TestWhatTheMirrorDoesNotFollow is read for the pages that show it, and not for each anew.
func TestWhatTheMirrorDoesNotFollow(t *testing.T) {
	there := &troubled{}
	s, c, base := before(t, kubetest.Serve(t, there))
	s.Client.Namespace = "ns"
	s.mirrors(t)
	s.until(t, "all is read", func() bool { return len(s.mirror.Gaps()) == 0 })
	for range 2 {
		for path, want := range map[string]string{
			"/":       "<strong>nodefence does not answer.</strong> nodefence has not run in this cluster: it has no FenceLedger, and no fence begins; no source leads: s-1 renewed Lease ns/nodefence-source last at ",
			"/node/a": " says: its quota is used up",
		} {
			if got := body(t, c, base+path); !strings.Contains(got, want) {
				t.Errorf("%s is without %q: %s", path, want, got)
			}
		}
	}
	if l, e := there.leases.Load(), there.events.Load(); l != 1 || e != 1 {
		t.Errorf("the Lease was read %d times, and Events %d times", l, e)
	}
}
