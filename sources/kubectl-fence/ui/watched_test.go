package ui

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/mirror"
)

// watched is an API server with node a and nothing else. Its lists are answered, and its watches too unless
// it refuses them. It is ours, and unverified.
type watched struct{ refuses atomic.Bool }

func (s *watched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case q.Get("sendInitialEvents") == "true": // as one that does not know this yet
		kubetest.Refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case q.Get("watch") == "":
		kind := map[string]string{"nodes": "Node", "pods": "Pod", "nodefences": "NodeFence", "fencepolicies": "FencePolicy", "fencetargets": "FenceTarget", "fenceledgers": "FenceLedger", "fencereports": "FenceReport", "fenceacts": "FenceAct"}[path.Base(r.URL.Path)]
		version, items := "v1", ""
		if strings.HasPrefix(r.URL.Path, own) {
			version = "nodefence.io/v1alpha1"
		}
		if kind == "Node" {
			items = `{"metadata":{"name":"a","uid":"1","resourceVersion":"1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
		}
		kubetest.Answer(w, fmt.Sprintf(`{"apiVersion":%q,"kind":"%sList","metadata":{"resourceVersion":"1"},"items":[%s]}`, version, kind, items))
	case s.refuses.Load():
		kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// mirrors has the server follow its cluster until the test ends.
func (s *Server) mirrors(t *testing.T) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.mirror.Run(ctx) })
	t.Cleanup(func() {
		end()
		wg.Wait()
	})
}

// until waits until what the server has of its cluster is as it should be.
func (s *Server) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	changes, end := s.mirror.Changes()
	defer end()
	late := time.After(2 * time.Minute)
	for !is() {
		select {
		case <-changes:
		case <-time.After(50 * time.Millisecond): // a list without a change
		case <-late:
			t.Fatalf("not %s: %+v", what, s.mirror.Gaps())
		}
	}
}

// body is that of a page that there is.
func body(t *testing.T, c *http.Client, address string) string {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, r)
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d: %s", address, r.StatusCode, got)
	}
	return got
}

// TestAPageThatIsNotLive: while something that was read is followed no more, no page says that it is live, nor
// the title of one that is not seen.
func TestAPageThatIsNotLive(t *testing.T) {
	in := &watched{}
	in.refuses.Store(true)
	s, c, base := before(t, kubetest.Serve(t, in))
	s.mirrors(t)
	says := func(live bool) {
		t.Helper()
		for path, title := range map[string]string{"/": "1 No policy – nodefence", "/history": "History of fences – nodefence"} {
			header := "as of "
			if !live {
				title, header = "Not live: "+title, "not all is live: see below"
			}
			whole := body(t, c, base+path)
			if !strings.Contains(whole, "<title>"+title) || !strings.Contains(whole, `id="live">`+header) {
				t.Errorf("%s, live %v: %s", path, live, whole)
			}
			if live {
				header = "live, " + header
			}
			if n := first(t, c, base, path); n.Title != title || !strings.HasPrefix(n.AsOf, header) {
				t.Errorf("%s, live %v: %+v", path, live, n)
			}
			if n := unseen(t, c, base, path); n.Title != title {
				t.Errorf("%s, live %v, unseen: %+v", path, live, n)
			}
		}
	}
	s.until(t, "read, and refused", func() bool {
		gaps := s.mirror.Gaps()
		return len(gaps) == 6 && !slices.ContainsFunc(gaps, func(g mirror.Gap) bool { return g.Unread })
	})
	says(false)
	in.refuses.Store(false)
	s.until(t, "followed again", func() bool { return len(s.mirror.Gaps()) == 0 })
	says(true)
}

// TestThePodsOfAPageThatIsOpen are followed on while it is not seen: those that go meanwhile are to be told.
func TestThePodsOfAPageThatIsOpen(t *testing.T) {
	s, c, base := before(t, kubetest.Serve(t, &watched{}))
	s.mirrors(t)
	s.until(t, "read", func() bool { return len(s.mirror.Gaps()) == 0 })
	followed := func() bool {
		return !strings.Contains(body(t, c, base+"/node/a"), "Pods are still being read")
	}
	s.until(t, "followed, with its pods", followed)
	seen := time.Now()
	unseen(t, c, base, "/node/a")
	s.mirror.Forget(seen)
	if !followed() {
		t.Error("the pods of a page that is open are followed no more")
	}
}
