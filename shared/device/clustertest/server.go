package clustertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Doc is a document as JSON has it.
type Doc = map[string]any

// Write is one accepted write.
type Write struct {
	Method, Path string
	Doc          Doc
}

// Refusal is an error of the API. Without a reason it is plain text, as for a path that
// nobody serves.
type Refusal struct {
	Code            int
	Reason, Message string
	// Name is that of the object that the error is about.
	Name string
}

// Server keeps objects by path. Its fields are set before it is used.
type Server struct {
	// Kinds are the paths of the lists that are served.
	Kinds []string
	// Token is the token that is required; empty lets everybody in.
	Token string
	// Changed is called after each write, without any lock held, so that a test can act as
	// a controller. It is not called for the controller's own writes.
	Changed func(path string)

	mu      sync.Mutex
	serial  int
	objects map[string]Doc
	writes  []Write
	refused map[string]Refusal
}

// Refuse makes every request of this method fail from now on; a zero Refusal ends this.
func (s *Server) Refuse(method string, with Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil {
		s.refused = map[string]Refusal{}
	}
	s.refused[method] = with
}

// Writes returns all accepted writes.
func (s *Server) Writes() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

// Put stores an object that somebody else wrote, as JSON text.
func (s *Server) Put(t testing.TB, path, text string) {
	t.Helper()
	var d Doc
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(path, d)
}

// Object returns a copy of an object as it is; nil if there is none.
func (s *Server) Object(path string) Doc {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.objects[path])
}

// Control is a controller's write: it changes an object in place, its metadata and status,
// without a new generation. An object that has been deleted and has no finalizer left is
// removed.
func (s *Server) Control(path string, change func(Doc)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.objects[path]
	if d == nil {
		return
	}
	change(d)
	s.bump(d)
	if Meta(d)["deletionTimestamp"] != nil && len(Finalizers(d)) == 0 {
		delete(s.objects, path)
	}
}

// Meta is an object's metadata.
func Meta(d Doc) Doc { return part(d, "metadata") }

// Part is an object's spec or status. It is created if missing.
func Part(d Doc, name string) Doc { return part(d, name) }

// Finalizers are an object's.
func Finalizers(d Doc) []any {
	all, _ := Meta(d)["finalizers"].([]any)
	return all
}

func part(d Doc, name string) Doc {
	p, ok := d[name].(Doc)
	if !ok {
		p = Doc{}
		d[name] = p
	}
	return p
}

// store adds an object as new, but keeps the metadata that it has.
func (s *Server) store(path string, d Doc) {
	if s.objects == nil {
		s.objects = map[string]Doc{}
	}
	m := Meta(d)
	if m["uid"] == nil {
		m["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.serial+1)
	}
	if m["generation"] == nil {
		m["generation"] = float64(1)
	}
	s.bump(d)
	s.objects[path] = d
}

func (s *Server) bump(d Doc) {
	s.serial++
	Meta(d)["resourceVersion"] = fmt.Sprint(s.serial)
}

// kind is the list that an object's path belongs to.
func kind(path string) string {
	at := strings.Split(path, "/")
	at = at[:len(at)-1]
	if i := slices.Index(at, "namespaces"); i > 0 && i+2 < len(at) {
		at = slices.Delete(at, i, i+2)
	}
	return strings.Join(at, "/")
}

var (
	notServed = Refusal{Code: 404, Message: "404 page not found"}
	conflict  = Refusal{Code: 409, Reason: "Conflict", Message: "the object has been modified; please apply your changes to the latest version and try again"}
	exists    = Refusal{Code: 409, Reason: "AlreadyExists", Message: "the object already exists"}
)

// notFound is the error for an object, whose kind may be served or not.
func (s *Server) notFound(path string) Refusal {
	if !slices.Contains(s.Kinds, kind(path)) {
		return notServed
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	return Refusal{Code: 404, Reason: "NotFound", Message: kind(path) + " \"" + name + "\" not found", Name: name}
}

func (s *Server) create(path string, d Doc) (Doc, Refusal) {
	name, _ := Meta(d)["name"].(string)
	at := path + "/" + name
	switch {
	case !slices.Contains(s.Kinds, kind(at)):
		return nil, notServed
	case s.objects[at] != nil:
		return nil, exists
	}
	delete(d, "status")
	s.store(at, d)
	return d, Refusal{}
}

func (s *Server) update(path string, d Doc) (Doc, Refusal) {
	old := s.objects[path]
	switch {
	case old == nil:
		return nil, s.notFound(path)
	case Meta(d)["resourceVersion"] != Meta(old)["resourceVersion"], Meta(d)["uid"] != Meta(old)["uid"]:
		return nil, conflict
	}
	d = clone(d)
	m := Meta(d)
	maps.Copy(m, Doc{"generation": Meta(old)["generation"], "deletionTimestamp": Meta(old)["deletionTimestamp"]})
	d["status"] = old["status"]
	if !reflect.DeepEqual(d["spec"], old["spec"]) {
		m["generation"] = m["generation"].(float64) + 1
	}
	s.bump(d)
	s.objects[path] = d
	return d, Refusal{}
}

func (s *Server) remove(path string, options Doc) (Doc, Refusal) {
	old := s.objects[path]
	if old == nil {
		return nil, s.notFound(path)
	}
	pre, _ := options["preconditions"].(Doc)
	for _, field := range []string{"uid", "resourceVersion"} {
		if want := pre[field]; want != nil && want != Meta(old)[field] {
			return nil, conflict
		}
	}
	if len(Finalizers(old)) == 0 {
		delete(s.objects, path)
		return old, Refusal{}
	}
	if Meta(old)["deletionTimestamp"] == nil {
		Meta(old)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		Meta(old)["generation"] = Meta(old)["generation"].(float64) + 1
		s.bump(old)
	}
	return old, Refusal{}
}

func clone(d Doc) Doc {
	if d == nil {
		return nil
	}
	raw, err := json.Marshal(d)
	if err == nil {
		d = nil
		err = json.Unmarshal(raw, &d)
	}
	if err != nil {
		panic(fmt.Sprintf("clustertest: copy a document: %v", err))
	}
	return d
}
