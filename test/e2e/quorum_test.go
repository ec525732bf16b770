package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// quorumAsks counts how often each function lists etcd's pods, which is once for each decision about
// a control-plane node, and how often it lists all nodes.
type quorumAsks struct {
	mu           sync.Mutex
	pods, listed map[string]int
}

func (a *quorumAsks) watch(o *local.Options) {
	o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			a.note(strings.TrimPrefix(req.UserAgent(), "nodefence/"), req)
			return next.RoundTrip(req)
		})
	})
}

func (a *quorumAsks) note(function string, req *http.Request) {
	label := req.URL.Query().Get("labelSelector")
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case req.Method != http.MethodGet:
	case strings.HasSuffix(req.URL.Path, "/namespaces/kube-system/pods") && label == "component=etcd":
		a.pods[function]++
	case label == "" && strings.HasSuffix(req.URL.Path, "/api/v1/nodes"):
		a.listed[function]++
	}
}

// without tells whether gate and power have each decided at least once without a list of all nodes.
func (a *quorumAsks) without() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pods["gate"] > a.listed["gate"] && a.pods["power"] > a.listed["power"]
}

// TestAQuorumIsDecidedByTheCensus: gate and power read etcd's pods for a node on which etcd runs,
// and list no nodes for it (S13: never etcd's quorum). Where the source is late, which a busy
// machine may make it, they do; so such a decision of each has three fences to come in.
func TestAQuorumIsDecidedByTheCensus(t *testing.T) {
	w := newWorld(t, 4, quick+"controlPlane: {fence: WithQuorum, etcdNodeNames: [node-0, node-1, node-2]}\n")
	asks := &quorumAsks{pods: map[string]int{}, listed: map[string]int{}}
	for i := range 3 {
		w.patch(node(i), `{"metadata":{"labels":{"`+api.ControlPlaneLabel+`":""}}}`)
	}
	w.start(asks.watch)
	for i := 0; i < 3 && !asks.without(); i++ {
		w.node(node(i), "crash")
		w.phase(node(i), api.Finished)
	}
	if !asks.without() {
		t.Errorf("etcd's pods were listed %v times, and all nodes %v times", asks.pods, asks.listed)
	}
}
