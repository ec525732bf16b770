package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// fakeAPI keeps objects by path and takes writes as an API server does: it checks resourceVersion
// and UID, and applies merge patches whole. test/e2e uses the real one.
type fakeAPI struct {
	t *testing.T
	*Client
	// config is how one more client reaches it.
	config *rest.Config

	mu      sync.Mutex
	rv      int
	objects map[string]map[string]any
	asked   []request
	// before is called before each write, so that a test can write first.
	before func(f *fakeAPI)
	// onRequest, if set, sees each request as it came.
	onRequest func(r *http.Request)
	// answer, if set for a path, is the response to it.
	answer map[string]func(w http.ResponseWriter, r request)
}

// request is one that the client made.
type request struct {
	Method, Path string
	Query        url.Values
	Type         string
	Body         string
}

func newFakeAPI(t *testing.T) *fakeAPI {
	t.Helper()
	f := &fakeAPI{t: t, objects: map[string]map[string]any{}, answer: map[string]func(http.ResponseWriter, request){}}
	f.Client = f.client()
	return f
}

// client is the client of one more process.
func (f *fakeAPI) client() *Client {
	f.t.Helper()
	s := httptest.NewServer(f)
	f.t.Cleanup(s.Close)
	f.config = &rest.Config{Host: s.URL}
	c, err := New(f.config)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// set stores an object as JSON text.
func (f *fakeAPI) set(path, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store(path, parse(f.t, text))
}

func (f *fakeAPI) store(path string, o map[string]any) map[string]any {
	f.rv++
	meta(o)["resourceVersion"] = fmt.Sprint(f.rv)
	f.objects[path] = o
	return o
}

// text is an object as it is now, without its resourceVersion.
func (f *fakeAPI) text(path string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects[path] == nil {
		return ""
	}
	o := parse(f.t, encode(f.t, f.objects[path]))
	delete(meta(o), "resourceVersion")
	return encode(f.t, o)
}

// writes are the requests that were not reads.
func (f *fakeAPI) writes() (all []request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.asked {
		if r.Method != http.MethodGet {
			all = append(all, r)
		}
	}
	return all
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	q := request{r.Method, r.URL.Path, r.URL.Query(), r.Header.Get("Content-Type"), string(body)}
	if q.Method != http.MethodGet && f.before != nil {
		f.before(f)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	if f.onRequest != nil {
		f.onRequest(r)
	}
	w.Header().Set("Content-Type", "application/json")
	if a := f.answer[q.Path]; a != nil {
		a(w, q)
		return
	}
	f.serve(w, q)
}

func (f *fakeAPI) serve(w http.ResponseWriter, q request) {
	path := strings.TrimSuffix(q.Path, "/status")
	old := f.objects[path]
	if q.Method == http.MethodPost {
		o := parse(f.t, q.Body)
		path += "/" + fmt.Sprint(meta(o)["name"])
		if f.objects[path] != nil {
			refuse(w, http.StatusConflict, "AlreadyExists")
			return
		}
		_, _ = io.WriteString(w, encode(f.t, f.store(path, o)))
		return
	}
	if old == nil {
		refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	if q.Method == http.MethodGet {
		_, _ = io.WriteString(w, encode(f.t, old))
		return
	}
	in := parse(f.t, q.Body)
	pre := meta(in)
	if q.Method == http.MethodDelete {
		pre, _ = in["preconditions"].(map[string]any)
	}
	switch uid, rv := pre["uid"], pre["resourceVersion"]; {
	case uid != nil && uid != meta(old)["uid"] && q.Method == http.MethodPatch:
		refuse(w, http.StatusUnprocessableEntity, "Invalid")
		return
	case uid != nil && uid != meta(old)["uid"], rv != nil && rv != meta(old)["resourceVersion"]:
		refuse(w, http.StatusConflict, "Conflict")
		return
	}
	switch q.Method {
	case http.MethodDelete:
		delete(f.objects, path)
	case http.MethodPatch:
		f.store(path, merge(parse(f.t, encode(f.t, old)), in))
	default:
		f.store(path, in)
	}
	_, _ = io.WriteString(w, encode(f.t, f.objects[path]))
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
}

// merge is RFC 7386.
func merge(into, patch map[string]any) map[string]any {
	for k, v := range patch {
		inner, isObject := v.(map[string]any)
		switch was, _ := into[k].(map[string]any); {
		case v == nil:
			delete(into, k)
		case isObject && was != nil:
			into[k] = merge(was, inner)
		case isObject:
			into[k] = merge(map[string]any{}, inner)
		default:
			into[k] = v
		}
	}
	return into
}

func meta(o map[string]any) map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

// parse keeps numbers as they were written.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var o map[string]any
	if err := d.Decode(&o); err != nil {
		t.Errorf("%v: %s", err, text)
		o = map[string]any{}
	}
	return o
}

func encode(t *testing.T, o any) string {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}
