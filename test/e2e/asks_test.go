package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/rig/port"
)

// TestARequestIsAcceptedOnceItsFenceIsRecorded: a process with the account of a pod takes events from senders whom it does
// not know. One without a token, with another event's, or of an account without the right leads to nothing, whatever source
// it names. One with a token is accepted, and the process is killed at once: another one, with an empty broker, ends the
// fence (S19: a lost event costs time only; S20: Kubernetes says who may ask). A Trigger carries its end to a subscriber.
func TestARequestIsAcceptedOnceItsFenceIsRecorded(t *testing.T) {
	w := newWorld(t, 4, quick)
	w.standalone()
	must(t, w.Apply(w.ctx, trusting))
	must(t, w.Apply(w.ctx, asker))
	archive := newArchive(t)
	a := asking{world: w}
	p, url := w.takesRequests(archive.triggers)
	for name, c := range map[string]struct {
		node, source, id, token string
		status                  int
		says                    string
	}{
		"without a token, of a source that is believed": {"node-1", "/racks/west", "1", "", http.StatusUnauthorized, "data.token is missing"},
		"with a token of another event":                 {"node-1", "/me", "2", a.token("node-1", "x", 600), http.StatusUnauthorized, "does not accept it"},
		"with a token that has expired":                 {"node-1", "/me", "3", a.expired("node-1", "3"), http.StatusUnauthorized, "does not accept it"},
		"with a token that lives for an hour":           {"node-1", "/me", "4", a.token("node-1", "4", 3600), http.StatusUnauthorized, "use --duration=10m"},
		"about a node that the account may not fence":   {"node-3", "/me", "5", a.token("node-3", "5", 600), http.StatusForbidden, "needs the verb fence"},
		"about no node": {"node-99", "/me", "6", a.token("node-99", "6", 600), http.StatusUnprocessableEntity, "no node has this name"},
	} {
		if status, said := a.send(url, c.node, c.source, c.id, c.token); status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d %s, want %d %s", name, status, said, c.status, c.says)
		}
		if f, err := w.Fences.Fence(w.ctx, c.node); err != nil || f != nil {
			t.Errorf("%s: a record was opened (%v)", name, err)
		}
	}

	token := a.token("node-1", "7", 600)
	if status, said := a.send(url, "node-1", "/me", "7", token); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, said)
	}
	p.Kill()
	f, err := w.Fences.Fence(w.ctx, "node-1")
	must(t, err)
	if f == nil || !f.Open() || f.Status.Decision.AskedBy[0].User != "system:serviceaccount:default:rack-watch" {
		t.Fatalf("accepted, and the record is %s", rig.Story(f))
	}
	_, url = w.takesRequests(archive.triggers)
	w.ended("node-1", api.Recovered)
	w.words("node-1", "off on")
	w.unmarked("node-1")
	w.until("the end of the fence to be in the archive", func() (bool, error) {
		return archive.has("io.nodefence.fence.finished.v1 node-1"), nil
	})
	if status, said := a.send(url, "node-1", "/me", "7", token); status != http.StatusAccepted {
		t.Errorf("once more: %d %s", status, said)
	}
	if f, err := w.Fences.Fence(w.ctx, "node-1"); err != nil || f.Open() || f.Status.FenceNumber != 1 {
		t.Errorf("one request had two fences (%v)", err)
	}
	if strings.Contains(w.log.String(), token) {
		t.Error("the log holds the token")
	}
}

// takesRequests runs nodefence-local with the account of a pod of infra/standalone and an empty broker, and returns the
// URL at which it takes requests.
func (w *world) takesRequests(triggers string) (p *rig.Process, url string) {
	w.t.Helper()
	addr, err := port.Free()
	must(w.t, err)
	p, err = w.StartProcess(w.ctx, w.t.TempDir(), w.log, "--kubeconfig="+w.kubeconfigOf("nodefence-local"), "--accounts-namespace=nodefence-system",
		"--listen-requests="+addr, "--outward-triggers="+triggers)
	must(w.t, err)
	w.t.Cleanup(p.Stop)
	return p, "http://" + addr
}

// send posts a request, and returns what its sender is told.
func (a asking) send(url, node, source, id, token string) (status int, said string) {
	a.t.Helper()
	req, err := cehttp.NewHTTPRequestFromEvent(a.ctx, url, a.request(node, source, id, token))
	must(a.t, err)
	r, err := http.DefaultClient.Do(req)
	must(a.t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	must(a.t, err)
	return r.StatusCode, strings.TrimSpace(string(b))
}

// archive is a subscriber of the user's own.
type archive struct {
	// triggers is a file with a Trigger that carries ends of fences to it.
	triggers string
	mu       sync.Mutex
	got      []string
}

func newArchive(t *testing.T) *archive {
	t.Helper()
	a := &archive{triggers: filepath.Join(t.TempDir(), "triggers.yaml")}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.got = append(a.got, r.Header.Get("Ce-Type")+" "+r.Header.Get("Ce-Subject"))
	}))
	t.Cleanup(s.Close)
	must(t, os.WriteFile(a.triggers, fmt.Appendf(nil, `apiVersion: eventing.knative.dev/v1
kind: Trigger
metadata: {name: archive}
spec:
  broker: nodefence
  filters:
    - exact: {type: io.nodefence.fence.finished.v1}
  subscriber: {uri: %s}
`, s.URL), 0o600))
	return a
}

func (a *archive) has(event string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.got, event)
}
