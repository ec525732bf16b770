package clustertest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
)

// ServeHTTP serves the API, with JSON in and out.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
		refuse(w, Refusal{Code: http.StatusUnauthorized, Reason: "Unauthorized", Message: "Unauthorized"})
		return
	}
	var d Doc
	if len(body) > 0 {
		if err := json.Unmarshal(body, &d); err != nil {
			refuse(w, Refusal{Code: http.StatusBadRequest, Reason: "BadRequest", Message: "the body is no JSON"})
			return
		}
	}
	out, no, changed := s.do(r.Method, r.URL.Path, d)
	if no != (Refusal{}) {
		refuse(w, no)
		return
	}
	if changed && s.Changed != nil {
		path := r.URL.Path
		if r.Method == http.MethodPost {
			path += "/" + Meta(d)["name"].(string)
		}
		s.Changed(path)
	}
	answer(w, http.StatusOK, out)
}

// do carries out one request. The answer is a copy of the object at that time.
func (s *Server) do(method, path string, d Doc) (out Doc, no Refusal, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if no := s.refused[method]; no != (Refusal{}) {
		return nil, no, false
	}
	was := s.serial
	held := len(s.objects)
	switch method {
	case http.MethodGet:
		out, no = s.get(path)
		return clone(out), no, false
	case http.MethodPost:
		out, no = s.create(path, d)
	case http.MethodPut:
		out, no = s.update(path, d)
	case http.MethodDelete:
		out, no = s.remove(path, d)
	default:
		no = Refusal{Code: http.StatusMethodNotAllowed, Reason: "MethodNotAllowed", Message: "the server does not allow this method"}
	}
	if no != (Refusal{}) {
		return nil, no, false
	}
	s.writes = append(s.writes, Write{method, path, clone(d)})
	return clone(out), no, s.serial != was || len(s.objects) != held
}

func (s *Server) get(path string) (Doc, Refusal) {
	if d := s.objects[path]; d != nil {
		return d, Refusal{}
	}
	if !slices.Contains(s.Kinds, path) {
		return nil, s.notFound(path)
	}
	items := []any{}
	for _, p := range slices.Sorted(maps.Keys(s.objects)) {
		if kind(p) == path {
			items = append(items, s.objects[p])
		}
	}
	return Doc{"kind": "List", "apiVersion": "v1", "metadata": Doc{}, "items": items}, Refusal{}
}

func refuse(w http.ResponseWriter, no Refusal) {
	if no.Reason == "" {
		http.Error(w, no.Message, no.Code)
		return
	}
	answer(w, no.Code, Doc{
		"kind": "Status", "apiVersion": "v1", "metadata": Doc{}, "status": "Failure",
		"message": no.Message, "reason": no.Reason, "code": no.Code, "details": Doc{"name": no.Name},
	})
}

func answer(w http.ResponseWriter, code int, body Doc) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone hears nothing
}
