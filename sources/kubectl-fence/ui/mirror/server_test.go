package mirror

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// server answers lists and watches of Nodes as a test says, as an API server does; of the other kinds
// there are no objects. It is ours, and unverified.
type server struct {
	t *testing.T
	*Mirror

	mu sync.Mutex
	// list and watch refuse, if they are set, what is asked next.
	list, watch *metav1.Status
	// names are the nodes that there are.
	names []string
	// asks, if set, is called before a list or a watch is answered.
	asks func(watch bool)
	// open are what ends the watches that stand, and open is closed with an error event if that is set.
	open  []chan *metav1.Status
	lists int
}

// follows is a mirror that follows a server until the test ends.
func follows(t *testing.T, begin func(*server)) *server {
	t.Helper()
	s := &server{t: t}
	begin(s)
	web := httptest.NewServer(s)
	c, err := cluster.New(&rest.Config{Host: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	s.Mirror = New(c)
	ctx, end := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	t.Cleanup(func() {
		end()
		web.CloseClientConnections()
		web.Close()
		wg.Wait()
	})
	return s
}

func status(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	q := r.URL.Query()
	if q.Get("sendInitialEvents") == "true" { // an API server that does not know this yet
		refuse(w, status(422, metav1.StatusReasonInvalid, "sendInitialEvents: Forbidden"))
		return
	}
	ofNodes, watch := strings.HasSuffix(r.URL.Path, "/nodes"), q.Get("watch") != ""
	if !ofNodes {
		if watch {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		kind := map[string]string{"nodefences": "NodeFenceList", "fencepolicies": "FencePolicyList", "fencetargets": "FenceTargetList", "fenceledgers": "FenceLedgerList", "fencereports": "FenceReportList", "fenceacts": "FenceActList"}[path.Base(r.URL.Path)]
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": "nodefence.io/v1alpha1", "metadata": map[string]string{"resourceVersion": "1"}, "items": []any{}})
		return
	}
	if s.asks != nil {
		s.asks(watch)
	}
	if watch {
		s.watches(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	if s.list != nil {
		refuse(w, s.list)
		return
	}
	all := corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, n := range s.names {
		all.Items = append(all.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n, ResourceVersion: "1"}})
	}
	_ = json.NewEncoder(w).Encode(all)
}

// watches stands until it is ended, or refuses.
func (s *server) watches(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	refusal, end := s.watch, make(chan *metav1.Status, 1)
	if refusal == nil {
		s.open = append(s.open, end)
	}
	s.mu.Unlock()
	if refusal != nil {
		refuse(w, refusal)
		return
	}
	w.(http.Flusher).Flush()
	select {
	case why := <-end:
		if why != nil {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": why})
		}
	case <-r.Context().Done():
	}
}

func refuse(w http.ResponseWriter, st *metav1.Status) {
	w.WriteHeader(int(st.Code))
	_ = json.NewEncoder(w).Encode(st)
}

// turns sets how lists and watches are answered from now on, and ends the watches that stand, with an
// error event if there is one.
func (s *server) turns(list, watch, event *metav1.Status, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.watch, s.names = list, watch, names
	for _, end := range s.open {
		end <- event
	}
	s.open = nil
}

// listed is how often nodes were listed.
func (s *server) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// gap is that of Nodes; nil if there is none.
func (s *server) gap() *Gap { return s.nodes.gap() }

// until waits until the mirror is as it should be.
func (s *server) until(what string, is func() bool) {
	s.t.Helper()
	changes, end := s.Changes()
	defer end()
	late := time.After(2 * time.Minute)
	for !is() {
		select {
		case <-changes:
		case <-time.After(50 * time.Millisecond): // a list without a change
		case <-late:
			s.t.Fatalf("not %s: gap %+v, nodes %v", what, s.gap(), s.sees())
		}
	}
}

// sees are the names of the nodes that the mirror has.
func (s *server) sees() string {
	var names []string
	for _, n := range s.Seen(time.Now()).Nodes {
		names = append(names, n.Name)
	}
	return strings.Join(names, " ")
}
