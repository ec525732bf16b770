package apiserver

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// fakeAPI is as much of an API server as the source speaks to: lists, watches,
// the ledger and ConfigMaps. The real one is used by test/e2e.
type fakeAPI struct {
	t   *testing.T
	url string

	mu       sync.Mutex
	rv       int
	objects  map[string]map[string]any // collection, name
	watchers map[string][]*watcher
	past     map[string][]line
	writes   []string
	pictures chan api.LeasePicture
	// configs is the version of the ConfigMaps that was written last; empty if none was.
	configs  string
	restores []api.Restored
	// between, if set, is what somebody else writes into the ledger just before the next
	// turns are.
	between func(*api.FenceLedger)
	// away refuses everything.
	away bool
	// forbidden is a path that the source may not see; refused counts its tries.
	forbidden string
	refused   int
}

// line is one change, as a watch tells it.
type line struct {
	rv  int
	raw []byte
}

type watcher struct {
	from   int
	events chan []byte
	gone   chan struct{}
}

const (
	nodesURL  = "/api/v1/nodes"
	leasesURL = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	fencesURL = "/apis/nodefence.io/v1alpha1/nodefences"
	ledgerURL = "/apis/nodefence.io/v1alpha1/fenceledgers"
	electURL  = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
	mapsURL   = "/api/v1/namespaces/ns/configmaps"
	eventsURL = "/api/v1/namespaces/default/events"
	// podEventsURL has those of all namespaces; here only Pods have any.
	podEventsURL = "/api/v1/events"
	podsURL      = "/api/v1/namespaces/shop/pods"
	policiesURL  = "/apis/nodefence.io/v1alpha1/fencepolicies"
	rulesURL     = "/apis/nodefence.io/v1alpha1/nodeproblempolicies"
	targetsURL   = "/apis/nodefence.io/v1alpha1/fencetargets"
	requestsURL  = "/apis/nodefence.io/v1alpha1/namespaces/own/fencerequests"
	actsURL      = "/apis/nodefence.io/v1alpha1/fenceacts"
)

var kinds = map[string][2]string{
	eventsURL: {"v1", "Event"}, podEventsURL: {"v1", "Event"}, podsURL: {"v1", "Pod"},
	rulesURL:    {"nodefence.io/v1alpha1", "NodeProblemPolicy"},
	policiesURL: {"nodefence.io/v1alpha1", "FencePolicy"}, "/apis/nodefence.io/v1alpha1/fencebudgets": {"nodefence.io/v1alpha1", "FenceBudget"}, targetsURL: {"nodefence.io/v1alpha1", "FenceTarget"},
	requestsURL: {"nodefence.io/v1alpha1", "FenceRequest"}, actsURL: {"nodefence.io/v1alpha1", "FenceAct"},
	nodesURL: {"v1", "Node"}, leasesURL: {"coordination.k8s.io/v1", "Lease"}, mapsURL: {"v1", "ConfigMap"},
	electURL:  {"coordination.k8s.io/v1", "Lease"},
	fencesURL: {"nodefence.io/v1alpha1", "NodeFence"}, ledgerURL: {"nodefence.io/v1alpha1", "FenceLedger"},
}

func newFakeAPI(t *testing.T) *fakeAPI {
	f := &fakeAPI{t: t, objects: map[string]map[string]any{}, watchers: map[string][]*watcher{}, past: map[string][]line{}, pictures: make(chan api.LeasePicture, 1000)}
	s := httptest.NewServer(f)
	t.Cleanup(func() { f.cutWatches(""); s.Close() })
	f.url = s.URL
	return f
}

func (f *fakeAPI) client() *kube.Client {
	c, err := kube.New(&rest.Config{Host: f.url})
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// set stores an object, typed or not, and tells the watchers.
func (f *fakeAPI) set(collection string, obj any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store(collection, obj)
}

func (f *fakeAPI) store(collection string, obj any) map[string]any {
	raw, err := json.Marshal(obj)
	if err != nil {
		f.t.Error(err)
	}
	var m map[string]any
	_ = json.Unmarshal(raw, &m)
	f.rv++
	m["apiVersion"], m["kind"] = kinds[collection][0], kinds[collection][1]
	meta := m["metadata"].(map[string]any)
	meta["resourceVersion"] = fmt.Sprint(f.rv)
	name := meta["name"].(string)
	kind := "MODIFIED"
	if f.objects[collection] == nil {
		f.objects[collection] = map[string]any{}
	}
	if f.objects[collection][name] == nil {
		kind = "ADDED"
	}
	f.objects[collection][name] = m
	raw, _ = json.Marshal(map[string]any{"type": kind, "object": m})
	f.past[collection] = append(f.past[collection], line{f.rv, raw})
	for _, w := range f.watchers[collection] {
		if f.rv > w.from { // nothing that is older, however late it comes
			w.events <- raw
		}
	}
	return m
}

// remove deletes an object, and tells the watchers.
func (f *fakeAPI) remove(collection, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(collection, name)
}

func (f *fakeAPI) drop(collection, name string) {
	m := f.objects[collection][name].(map[string]any)
	delete(f.objects[collection], name)
	f.rv++
	m["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(f.rv)
	raw, _ := json.Marshal(map[string]any{"type": "DELETED", "object": m})
	f.past[collection] = append(f.past[collection], line{f.rv, raw})
	for _, w := range f.watchers[collection] {
		if f.rv > w.from {
			w.events <- raw
		}
	}
}

// cutWatches ends the watches on a collection, or all.
func (f *fakeAPI) cutWatches(collection string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c, all := range f.watchers {
		if collection == "" || c == collection {
			for _, w := range all {
				close(w.gone)
			}
			f.watchers[c] = nil
		}
	}
}

func (f *fakeAPI) setAway(away bool) {
	f.mu.Lock()
	f.away = away
	f.mu.Unlock()
}

func (f *fakeAPI) forbid(collection string) {
	f.mu.Lock()
	f.forbidden = collection
	f.mu.Unlock()
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	away, forbidden := f.away, f.forbidden == r.URL.Path
	if forbidden {
		f.refused++
	}
	f.mu.Unlock()
	q := r.URL.Query()
	switch {
	case away:
		kubetest.Refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable")
	case q.Get("sendInitialEvents") != "":
		kubetest.Refuse(w, http.StatusUnprocessableEntity, "Invalid") // an API server without that feature
	case forbidden:
		kubetest.Refuse(w, http.StatusForbidden, "Forbidden")
	case r.URL.Path == eventsURL && q.Get("fieldSelector") != "involvedObject.kind=Node,type!=Normal":
		kubetest.Refuse(w, http.StatusBadRequest, "BadRequest") // of all Events it would be too many
	case r.URL.Path == podEventsURL && q.Get("fieldSelector") != "involvedObject.kind=Pod,reason=FailedMount,type!=Normal":
		kubetest.Refuse(w, http.StatusBadRequest, "BadRequest")
	case q.Get("watch") != "":
		f.watch(w, r)
	case r.Method == http.MethodGet && kinds[r.URL.Path][0] != "":
		f.list(w, r.URL.Path)
	default:
		f.one(w, r)
	}
}

func (f *fakeAPI) list(w http.ResponseWriter, collection string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := kinds[collection]
	kubetest.Answer(w, map[string]any{
		"apiVersion": k[0], "kind": k[1] + "List", "metadata": map[string]any{"resourceVersion": fmt.Sprint(f.rv)},
		"items": slices.Collect(maps.Values(f.objects[collection])),
	})
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	me := &watcher{from: from, events: make(chan []byte, 100), gone: make(chan struct{})}
	f.mu.Lock()
	for _, l := range f.past[r.URL.Path] {
		if l.rv > from {
			me.events <- l.raw
		}
	}
	f.watchers[r.URL.Path] = append(f.watchers[r.URL.Path], me)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		select {
		case raw := <-me.events:
			_, _ = w.Write(append(raw, '\n'))
			w.(http.Flusher).Flush()
		case <-me.gone:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// one reads or writes one object.
func (f *fakeAPI) one(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	collection, name := strings.TrimSuffix(r.URL.Path, "/status"), ""
	if kinds[collection][0] == "" {
		i := strings.LastIndex(collection, "/")
		collection, name = collection[:i], collection[i+1:]
	}
	var body map[string]any
	if raw, _ := io.ReadAll(r.Body); len(raw) > 0 {
		_ = json.Unmarshal(raw, &body)
		if r.Method == http.MethodPatch && collection == ledgerURL && !f.patched(raw) {
			kubetest.Refuse(w, http.StatusConflict, "Conflict")
			return
		}
	}
	if meta, ok := body["metadata"].(map[string]any); ok && name == "" {
		name, _ = meta["name"].(string)
	}
	old, exists := f.objects[collection][name]
	switch {
	case r.Method == http.MethodPost && exists:
		kubetest.Refuse(w, http.StatusConflict, "AlreadyExists")
	case r.Method == http.MethodPost, r.Method == http.MethodPut && exists:
		f.writes = append(f.writes, r.Method+" "+name)
		kubetest.Answer(w, f.store(collection, body))
	case !exists:
		kubetest.Refuse(w, http.StatusNotFound, "NotFound")
	case r.Method == http.MethodPatch && collection == targetsURL:
		f.writes = append(f.writes, r.Method+" "+name)
		now := maps.Clone(old.(map[string]any))
		status, _ := now["status"].(map[string]any)
		after := map[string]any{}
		maps.Copy(after, status)
		maps.Copy(after, body["status"].(map[string]any))
		now["status"] = after
		kubetest.Answer(w, f.store(targetsURL, now))
	case r.Method == http.MethodDelete && !wanted(body, old):
		kubetest.Refuse(w, http.StatusConflict, "Conflict")
	case r.Method == http.MethodDelete:
		f.writes = append(f.writes, r.Method+" "+name)
		f.drop(collection, name)
		kubetest.Answer(w, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"})
	default:
		kubetest.Answer(w, old)
	}
}

// wanted: an object is as the preconditions of its deletion say.
func wanted(body map[string]any, obj any) bool {
	want, _ := body["preconditions"].(map[string]any)
	meta := obj.(map[string]any)["metadata"].(map[string]any)
	for k, v := range want {
		if v != meta[k] {
			return false
		}
	}
	return true
}

// patched takes a patch of the ledger, unless it wants the ledger to be as it is not.
func (f *fakeAPI) patched(raw []byte) bool {
	var l api.FenceLedger
	if err := json.Unmarshal(raw, &l); err != nil {
		f.t.Error(err)
	}
	if l.Status.Restored != nil {
		l.Name = api.LedgerName
		f.store(ledgerURL, &l)
		f.restores = append(f.restores, *l.Status.Restored)
		return true
	}
	if was := f.ledger(); f.between != nil && l.Status.Checks != nil {
		f.between(was)
		f.store(ledgerURL, was)
		f.between = nil
	}
	if was := f.ledger(); l.ResourceVersion != "" && was.ResourceVersion != l.ResourceVersion {
		return false
	}
	f.merge(raw)
	f.configs = ""
	if seen := l.Status.Configs; seen != nil {
		f.configs = seen.Version
	}
	f.pictures <- l.Status.Leases
	return true
}

// merge writes what a merge patch says into the ledger's status, and leaves what it does not
// name.
func (f *fakeAPI) merge(raw []byte) {
	var patch, is map[string]any
	old, _ := json.Marshal(f.objects[ledgerURL][api.LedgerName])
	if json.Unmarshal(raw, &patch) != nil || json.Unmarshal(old, &is) != nil || is == nil {
		return
	}
	status, _ := is["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	for k, v := range patch["status"].(map[string]any) {
		if delete(status, k); v != nil {
			status[k] = v
		}
	}
	is["status"] = status
	f.store(ledgerURL, is)
}

// ledger is as it stands; called with the lock held.
func (f *fakeAPI) ledger() *api.FenceLedger {
	raw, _ := json.Marshal(f.objects[ledgerURL][api.LedgerName])
	var l api.FenceLedger
	_ = json.Unmarshal(raw, &l)
	return &l
}

func (f *fakeAPI) enrolled(name string) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, _ := json.Marshal(f.objects[mapsURL][name])
	var cm corev1.ConfigMap
	_ = json.Unmarshal(raw, &cm)
	return cm.Data
}

func (f *fakeAPI) written() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.writes)
}
