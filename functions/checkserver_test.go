package functions

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// objects is an API server that keeps objects, and accepts writes only with the right
// resourceVersion.
type objects struct {
	client *kube.Client
	// before is called before each request, so that a test can act as another client.
	before func(r *http.Request)

	mu  sync.Mutex
	rv  int
	all map[string]map[string]any
}

func newObjects(t *testing.T) *objects {
	t.Helper()
	o := &objects{all: map[string]map[string]any{}}
	o.client = kubetest.Client(t, o)
	return o
}

func (o *objects) put(path string, obj any) {
	raw, _ := json.Marshal(obj)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.store(path, raw)
}

func (o *objects) store(path string, raw []byte) map[string]any {
	var m map[string]any
	_ = json.Unmarshal(raw, &m)
	o.rv++
	m["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(o.rv)
	o.all[path] = m
	return m
}

func (o *objects) version(path string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.all[path]; m != nil {
		return m["metadata"].(map[string]any)["resourceVersion"].(string)
	}
	return ""
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["Date"] = nil // one clock, from the first request on: another clock is learnt only after a moment
	if o.before != nil {
		o.before(r)
	}
	raw, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	var body struct{ Metadata metav1.ObjectMeta }
	_ = json.Unmarshal(raw, &body)
	path := strings.TrimSuffix(r.URL.Path, "/status")
	if r.Method == http.MethodPost {
		path += "/" + body.Metadata.Name
	}
	is, there := o.all[path]
	patches, puts := r.Method == http.MethodPatch && there, r.Method == http.MethodPut && there
	switch {
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		kubetest.Answer(w, `{"status":{"userInfo":{"username":"me"}}}`)
	case r.Method == http.MethodPost && there, (patches || puts) && is["metadata"].(map[string]any)["resourceVersion"] != body.Metadata.ResourceVersion:
		kubetest.Refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
	case r.Method == http.MethodPost, puts:
		kubetest.Answer(w, o.store(path, raw))
	case patches:
		var patch map[string]any
		_ = json.Unmarshal(raw, &patch)
		raw, _ = json.Marshal(kubetest.Merge(is, patch))
		kubetest.Answer(w, o.store(path, raw))
		if meta := o.all[path]["metadata"].(map[string]any); meta["deletionTimestamp"] != nil && len(meta["finalizers"].([]any)) == 0 {
			delete(o.all, path)
		}
	case there:
		kubetest.Answer(w, is)
	case strings.HasSuffix(path, "s") && r.Method == http.MethodGet:
		kubetest.Answer(w, o.list(path))
	default:
		kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

func (o *objects) list(path string) any {
	items := []any{}
	for p, m := range o.all {
		if strings.HasPrefix(p, path+"/") {
			items = append(items, m)
		}
	}
	return map[string]any{"items": items}
}
