package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The paths of the model's API server.
const (
	fences      = "/apis/nodefence.io/v1alpha1/nodefences/"
	policies    = "/apis/nodefence.io/v1alpha1/fencepolicies/"
	ledgers     = "/apis/nodefence.io/v1alpha1/fenceledgers/"
	nodes       = "/api/v1/nodes/"
	leases      = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"
	attachments = "/apis/storage.k8s.io/v1/volumeattachments/"
	pods        = "/api/v1/pods/"
	theLedger   = ledgers + "cluster"
)

// kinds are the collections that exist, and whether status is a resource of its own.
var kinds = map[string]struct {
	kind   string
	status bool
}{
	fences: {"NodeFence", true}, policies: {"FencePolicy", true}, ledgers: {"FenceLedger", false},
	nodes: {"Node", true}, leases: {"Lease", false}, attachments: {"VolumeAttachment", true}, pods: {"Pod", true},
}

// object is one stored object. It is never changed, only replaced.
type object struct {
	raw []byte
	rv  int
	sum digest
	// typed is raw as a Go value, once somebody has asked for it.
	typed any
}

// store is the API server's content.
type store struct {
	objects map[string]*object
	// paths of the objects, sorted.
	paths []string
	// lost counts what was deleted, so that no resourceVersion is given twice.
	lost int
}

func (s *store) clone() store {
	objects := make(map[string]*object, len(s.objects))
	for p, o := range s.objects {
		objects[p] = o
	}
	return store{objects: objects, paths: s.paths, lost: s.lost}
}

type fields = map[string]any

func (s *store) get(path string) fields {
	o := s.objects[path]
	if o == nil {
		return nil
	}
	var m fields
	must(json.Unmarshal(o.raw, &m))
	return m
}

// put stores m under a new resourceVersion, unless nothing in it is new. The
// versions count each object's own writes: to clients they are opaque, and the
// same content reached in another order is the same state.
func (s *store) put(path string, m fields) *object {
	meta := m["metadata"].(fields)
	old := s.objects[path]
	rv := 1000*s.lost + 1
	if old != nil {
		meta["resourceVersion"] = strconv.Itoa(old.rv)
		if raw := encode(m); bytes.Equal(raw, old.raw) {
			return old
		}
		rv = old.rv + 1
	}
	meta["resourceVersion"] = strconv.Itoa(rv)
	raw := encode(m)
	o := &object{raw: raw, rv: rv, sum: digestOf([]byte(path), raw)}
	s.objects[path] = o
	if old == nil {
		i, _ := slices.BinarySearch(s.paths, path)
		s.paths = slices.Insert(slices.Clone(s.paths), i, path)
	}
	return o
}

func (s *store) remove(path string) {
	delete(s.objects, path)
	s.paths = slices.DeleteFunc(slices.Clone(s.paths), func(p string) bool { return p == path })
	s.lost++
}

// request is one call to the API server or to a device.
type request struct {
	method, path, query, contentType string
	body                             []byte
}

func (r request) String() string { return r.method + " " + r.path }

func (r request) writes() bool { return r.method != http.MethodGet }

// answer is what came back, and when.
type answer struct {
	code int
	body []byte
	// date is the server's clock when it answered, got the time of arrival.
	date, got time.Duration
}

func refuse(code int, reason metav1.StatusReason, format string, a ...any) answer {
	return answer{code: code, body: encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: fmt.Sprintf(format, a...),
	})}
}

// serve answers one call as the API server would.
func (s *store) serve(r request) answer {
	path, sub := strings.CutSuffix(r.path, "/status")
	collection := path[:strings.LastIndex(path, "/")+1]
	if _, ok := kinds[path+"/"]; ok {
		collection = path + "/"
		if r.method == http.MethodGet {
			return s.list(collection)
		}
		return s.create(collection, r)
	}
	k, ok := kinds[collection]
	if !ok || sub && !k.status {
		panic("the model's API server has no " + r.String())
	}
	o := s.objects[path]
	if o == nil {
		return refuse(http.StatusNotFound, metav1.StatusReasonNotFound, "no %s", path)
	}
	switch r.method {
	case http.MethodGet:
		return answer{code: http.StatusOK, body: o.raw}
	case http.MethodPut:
		return s.update(path, r, sub, k.status)
	case http.MethodPatch:
		return s.patch(path, r, sub, k.status)
	}
	panic("the model's API server does not know " + r.String())
}

func (s *store) list(collection string) answer {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":"%sList","items":[`, kinds[collection].kind)
	first := true
	for _, p := range s.paths {
		if !strings.HasPrefix(p, collection) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(s.objects[p].raw)
	}
	b.WriteString("]}")
	return answer{code: http.StatusOK, body: b.Bytes()}
}

func (s *store) create(collection string, r request) answer {
	m := decode(r.body)
	meta := m["metadata"].(fields)
	path := collection + meta["name"].(string)
	if s.objects[path] != nil {
		return refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists, "%s is there", path)
	}
	if kinds[collection].status {
		delete(m, "status")
	}
	meta["uid"] = fmt.Sprintf("uid-%s-%d", meta["name"], s.lost)
	return answer{code: http.StatusCreated, body: s.put(path, m).raw}
}

// update is the compare-and-swap: it replaces the object, or its status alone,
// if nobody has written it since it was read.
func (s *store) update(path string, r request, sub, hasStatus bool) answer {
	m, old := decode(r.body), s.get(path)
	meta, is := m["metadata"].(fields), old["metadata"].(fields)
	if meta["resourceVersion"] == nil {
		return refuse(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "%s: resourceVersion must be set", path)
	}
	if meta["resourceVersion"] != is["resourceVersion"] || meta["uid"] != is["uid"] {
		return refuse(http.StatusConflict, metav1.StatusReasonConflict, "%s was written by somebody else", path)
	}
	switch {
	case sub:
		old["status"], m = m["status"], old
	case hasStatus:
		m["status"] = old["status"]
	}
	return answer{code: http.StatusOK, body: s.put(path, m).raw}
}

// patch is a merge patch, with the preconditions that its metadata sets.
func (s *store) patch(path string, r request, sub, hasStatus bool) answer {
	m, old := decode(r.body), s.get(path)
	is := old["metadata"].(fields)
	if meta, ok := m["metadata"].(fields); ok {
		for _, k := range []string{"resourceVersion", "uid"} {
			if meta[k] != nil && meta[k] != is[k] {
				return refuse(http.StatusConflict, metav1.StatusReasonConflict, "%s is another one", path)
			}
		}
	}
	if r.contentType == "application/strategic-merge-patch+json" {
		mergeConditions(m, old)
	}
	spec, _ := m["spec"].(fields)
	if _, ok := spec["unschedulable"]; ok {
		is["managedFields"] = []any{fields{"manager": "nodefence", "fieldsV1": fields{"f:spec": fields{"f:unschedulable": fields{}}}}}
	}
	if hasStatus && !sub {
		delete(m, "status")
	}
	return answer{code: http.StatusOK, body: s.put(path, merge(old, m)).raw}
}

// merge is RFC 7386.
func merge(into, patch fields) fields {
	if into == nil {
		into = fields{}
	}
	for k, v := range patch {
		switch p, ok := v.(fields); {
		case v == nil:
			delete(into, k)
		case ok:
			was, _ := into[k].(fields)
			into[k] = merge(was, p)
		default:
			into[k] = v
		}
	}
	return into
}

// mergeConditions makes of a strategic patch of conditions a plain one: they are
// merged by their type.
func mergeConditions(patch, old fields) {
	status, ok := patch["status"].(fields)
	if !ok {
		panic("the model knows strategic patches of conditions only")
	}
	was, _ := old["status"].(fields)
	all, _ := was["conditions"].([]any)
	for _, c := range status["conditions"].([]any) {
		typ := c.(fields)["type"]
		if i := slices.IndexFunc(all, func(o any) bool { return o.(fields)["type"] == typ }); i >= 0 {
			all[i] = merge(all[i].(fields), c.(fields))
		} else {
			all = append(all, c)
		}
	}
	status["conditions"] = all
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	must(err)
	return raw
}

func decode(raw []byte) fields {
	var m fields
	must(json.Unmarshal(raw, &m))
	return m
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
