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
	fences       = "/apis/nodefence.io/v1alpha1/nodefences/"
	policies     = "/apis/nodefence.io/v1alpha1/fencepolicies/"
	ledgers      = "/apis/nodefence.io/v1alpha1/fenceledgers/"
	nodes        = "/api/v1/nodes/"
	leases       = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"
	attachments  = "/apis/storage.k8s.io/v1/volumeattachments/"
	pods         = "/api/v1/pods/"
	etcds        = "/api/v1/namespaces/kube-system/pods/"
	budgets      = "/apis/nodefence.io/v1alpha1/fencebudgets/"
	fenceReports = "/apis/nodefence.io/v1alpha1/fencereports/"
	configMaps   = "/api/v1/namespaces/" + ownNamespace + "/configmaps/"
	secrets      = "/api/v1/namespaces/" + secretsIn + "/secrets/"
	machineKind  = "/apis/cluster.x-k8s.io/v1beta2/machines/"
	machinesOfM  = "/apis/cluster.x-k8s.io/v1beta2/namespaces/m/machines/"
	targets      = "/apis/nodefence.io/v1alpha1/fencetargets/"
	problems     = "/apis/nodefence.io/v1alpha1/nodeproblempolicies/"
	theLedger    = ledgers + "cluster"
	// memory is no path of the API server: it is what the pod of a broken gate remembers.
	memory = "/memory"
)

// kinds are the collections that exist, and whether status is a resource of its own.
var kinds = map[string]struct {
	kind   string
	status bool
}{
	fences: {"NodeFence", true}, policies: {"FencePolicy", true}, ledgers: {"FenceLedger", true},
	nodes: {"Node", true}, leases: {"Lease", false}, attachments: {"VolumeAttachment", true}, pods: {"Pod", true}, etcds: {"Pod", true}, budgets: {"FenceBudget", true}, fenceReports: {"FenceReport", false}, asks: {"FenceRequest", true},
	configMaps: {"ConfigMap", false}, secrets: {"Secret", false}, machineKind: {"Machine", true}, machinesOfM: {"Machine", true}, targets: {"FenceTarget", true}, problems: {"NodeProblemPolicy", true},
}

// object is one stored object. It is never changed, only replaced.
type object struct {
	path string
	raw  []byte
	rv   int
	sum  digest
	// typed is raw as a Go value, once somebody has asked for it.
	typed any
}

type fields = map[string]any

// store is the API server's content, sorted by path.
type store struct {
	objects []*object
	// ready are the answers to writes that were already made.
	ready map[written]kept
}

// written is a write of one content over another; kept is its result.
type written struct {
	was  *object
	path string
	body digest
}

type kept struct {
	answer answer
	is     *object
}

func (s *store) clone() store {
	return store{objects: slices.Clone(s.objects), ready: s.ready}
}

func (s *store) find(path string) (int, bool) {
	return slices.BinarySearchFunc(s.objects, path, func(o *object, p string) int { return strings.Compare(o.path, p) })
}

func (s *store) at(path string) *object {
	if i, ok := s.find(path); ok {
		return s.objects[i]
	}
	return nil
}

// put stores m under a new resourceVersion, unless nothing in it is new. The
// versions count each object's own writes: to clients they are opaque, and the
// same content reached in another order is the same state.
func (s *store) put(path string, m fields) *object {
	meta := m["metadata"].(fields)
	rv, old := 1, s.at(path)
	if old != nil {
		meta["resourceVersion"] = strconv.Itoa(old.rv)
		if raw := encode(m); bytes.Equal(raw, old.raw) {
			return old
		}
		rv = old.rv + 1
	}
	meta["resourceVersion"] = strconv.Itoa(rv)
	raw := encode(m)
	o := &object{path: path, raw: raw, rv: rv, sum: digestOf([]byte(path), raw)}
	s.set(o)
	return o
}

func (s *store) set(o *object) {
	i, found := s.find(o.path)
	if found {
		s.objects[i] = o
		return
	}
	s.objects = slices.Insert(s.objects, i, o)
}

func (s *store) remove(path string) {
	if i, ok := s.find(path); ok {
		s.objects = slices.Delete(s.objects, i, i+1)
	}
}

// request is one call to the API server or to a device.
type request struct {
	method, path, contentType string
	body                      []byte
	sum                       digest
	// by is the invocation that makes the call.
	by string
}

func (r request) writes() bool { return r.method != http.MethodGet }

// answer is what came back, and when.
type answer struct {
	code int
	body []byte
	// sum is a digest that tells bodies apart.
	sum digest
	// date is the server's clock when it answered, got the time of arrival.
	date, got time.Duration
}

func answerOf(code int, body []byte) answer {
	return answer{code: code, body: body, sum: digestOf(body)}
}

// content is an answer that is a stored object.
func content(code int, o *object) answer { return answer{code: code, body: o.raw, sum: o.sum} }

func refuse(code int, reason metav1.StatusReason, format string, a ...any) answer {
	return answerOf(code, encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: fmt.Sprintf(format, a...),
	}))
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
		panic("the model's API server has no " + r.path)
	}
	o := s.at(path)
	switch {
	case o == nil:
		return refuse(http.StatusNotFound, metav1.StatusReasonNotFound, "no %s", path)
	case r.method == http.MethodGet:
		return content(http.StatusOK, o)
	}
	w := written{o, r.path, r.sum}
	done, again := s.ready[w]
	if !again {
		if r.method == http.MethodPut {
			done.answer = s.update(o, r, sub, k.status)
		} else {
			done.answer = s.patch(o, r, sub, k.status)
		}
		done.is = s.at(path)
		s.ready[w] = done
	}
	s.set(done.is)
	return done.answer
}

// list answers with all of a collection: here every node has each label that is asked for, and
// every pod of kube-system is etcd's.
func (s *store) list(collection string) answer {
	var sums []byte
	first, _ := s.find(collection)
	end := first
	for ; end < len(s.objects) && strings.HasPrefix(s.objects[end].path, collection); end++ {
		sums = s.objects[end].sum.append(sums)
	}
	w := written{path: collection, body: digestOf(sums)}
	if done, again := s.ready[w]; again {
		return done.answer
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":"%sList","items":[`, kinds[collection].kind)
	for i, o := range s.objects[first:end] {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(o.raw)
	}
	b.WriteString("]}")
	a := answerOf(http.StatusOK, b.Bytes())
	s.ready[w] = kept{answer: a}
	return a
}

func (s *store) create(collection string, r request) answer {
	m := decode(r.body)
	meta := m["metadata"].(fields)
	path := collection + meta["name"].(string)
	if s.at(path) != nil {
		return refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists, "%s is there", path)
	}
	if kinds[collection].status {
		delete(m, "status")
	}
	meta["uid"] = fmt.Sprintf("uid-%s", meta["name"])
	return content(http.StatusCreated, s.put(path, m))
}

// update is the compare-and-swap: it replaces the object, or its status alone,
// if nobody has written it since it was read.
func (s *store) update(o *object, r request, sub, hasStatus bool) answer {
	m, old := decode(r.body), decode(o.raw)
	meta, is := m["metadata"].(fields), old["metadata"].(fields)
	if meta["resourceVersion"] == nil {
		return refuse(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "%s: resourceVersion must be set", o.path)
	}
	if meta["resourceVersion"] != is["resourceVersion"] || meta["uid"] != is["uid"] {
		return refuse(http.StatusConflict, metav1.StatusReasonConflict, "%s was written by somebody else", o.path)
	}
	switch {
	case sub:
		old["status"], m = m["status"], old
	case hasStatus:
		m["status"] = old["status"]
	}
	return content(http.StatusOK, s.put(o.path, m))
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
