package bustest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
)

// Entry is one event as it was put.
type Entry struct {
	Source, DetailType, Detail, EventBusName string
	// Time is in seconds since 1970, as in this protocol.
	Time float64
}

// Refusal is why an entry was not taken.
type Refusal struct{ Code, Message string }

// Server is a bus.
type Server struct {
	*httptest.Server
	take    func(Entry) *Refusal
	puts    atomic.Int64
	entries atomic.Int64
}

// New starts a server that gives every entry to take, which refuses it or
// returns nil. It is called from many goroutines.
func New(take func(Entry) *Refusal) *Server {
	s := &Server{take: take}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Puts is how many requests there were.
func (s *Server) Puts() int { return int(s.puts.Load()) }

type result struct {
	EventID      string `json:"EventId,omitempty"`
	ErrorCode    string `json:",omitempty"`
	ErrorMessage string `json:",omitempty"`
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.puts.Add(1)
	var in struct{ Entries []Entry }
	switch {
	case r.Header.Get("X-Amz-Target") != "AWSEvents.PutEvents":
		fail(w, "UnknownOperationException", r.Header.Get("X-Amz-Target"))
		return
	case !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="):
		fail(w, "MissingAuthenticationToken", "the request is not signed")
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		fail(w, "SerializationException", err.Error())
		return
	}
	if n := len(in.Entries); n < 1 || n > 10 {
		fail(w, "ValidationException", fmt.Sprintf("%d entries, want 1 to 10", n))
		return
	}
	var out struct {
		FailedEntryCount int
		Entries          []result
	}
	for _, e := range in.Entries {
		refused := check(e)
		if refused == nil {
			refused = s.take(e)
		}
		if refused != nil {
			out.FailedEntryCount++
			out.Entries = append(out.Entries, result{ErrorCode: refused.Code, ErrorMessage: refused.Message})
			continue
		}
		out.Entries = append(out.Entries, result{EventID: fmt.Sprintf("11710aed-b79e-4468-a20b-%012d", s.entries.Add(1))})
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_ = json.NewEncoder(w).Encode(out)
}

// maxEntry is the size of an entry that PutEvents takes.
const maxEntry = 1 << 20

func check(e Entry) *Refusal {
	switch {
	case e.Source == "" || e.DetailType == "" || e.Detail == "":
		return &Refusal{"InvalidArgument", "Source, DetailType and Detail are required"}
	case strings.HasPrefix(e.Source, "aws."):
		return &Refusal{"NotAuthorizedForSourceException", "Not authorized for the source."}
	case len(e.DetailType) > 128:
		return &Refusal{"InvalidArgument", "DetailType is longer than 128 characters"}
	case !strings.HasPrefix(e.Detail, "{") || !json.Valid([]byte(e.Detail)):
		return &Refusal{"MalformedDetail", "Detail is malformed."}
	case len(e.Source)+len(e.DetailType)+len(e.Detail) > maxEntry:
		return &Refusal{"InvalidArgument", "the entry is too large"}
	}
	return nil
}

func fail(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": message})
}
