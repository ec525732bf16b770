package spans

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one that was received.
type Span struct {
	Trace, ID, Parent string
	Name, Service     string
	Kind              string
	Attrs             map[string]string
	Begun, Ended      time.Time
	// Err is the message of a span that failed.
	Err string
	// Links are the traces that it links to.
	Links []string
	// State is its trace state; Events are the attributes of the last of its events.
	State  string
	Events map[string]string
}

// Receiver is an http.Handler for a collector's URL. The zero value has received nothing.
type Receiver struct {
	// Header, if set, is a header that each request must have, and its value.
	Header [2]string

	mu    sync.Mutex
	spans []Span
	wrong []string
}

// ServeHTTP takes the spans of one request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	spans, err := r.read(req)
	if err != nil {
		r.wrong = append(r.wrong, err.Error())
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.spans = append(r.spans, spans...)
}

func (r *Receiver) read(req *http.Request) ([]Span, error) {
	if req.Method != http.MethodPost || req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf" {
		return nil, fmt.Errorf("%s %s of type %s", req.Method, req.URL.Path, req.Header.Get("Content-Type"))
	}
	if r.Header[0] != "" && req.Header.Get(r.Header[0]) != r.Header[1] {
		return nil, fmt.Errorf("header %s is %q", r.Header[0], req.Header.Get(r.Header[0]))
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var data tracepb.TracesData
	if err := proto.Unmarshal(body, &data); err != nil {
		return nil, err
	}
	var all []Span
	for _, of := range data.GetResourceSpans() {
		service := attrs(of.GetResource().GetAttributes())["service.name"]
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				all = append(all, spanOf(s, service))
			}
		}
	}
	return all, nil
}

func spanOf(s *tracepb.Span, service string) Span {
	is := Span{
		Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Name: s.GetName(), Service: service, Attrs: attrs(s.GetAttributes()), Kind: strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_")),
		Begun: time.Unix(0, int64(s.GetStartTimeUnixNano())), Ended: time.Unix(0, int64(s.GetEndTimeUnixNano())),
	}
	if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		is.Err = s.GetStatus().GetMessage()
	}
	is.State = s.GetTraceState()
	for _, e := range s.GetEvents() {
		is.Events = attrs(e.GetAttributes())
	}
	for _, l := range s.GetLinks() {
		is.Links = append(is.Links, hex.EncodeToString(l.GetTraceId()))
	}
	return is
}

func attrs(all []*commonpb.KeyValue) map[string]string {
	m := map[string]string{}
	for _, kv := range all {
		switch v := kv.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[kv.GetKey()] = fmt.Sprint(v.IntValue)
		default:
			m[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return m
}

// All are the spans so far, in the order in which they came.
func (r *Receiver) All() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Wrong is what was refused.
func (r *Receiver) Wrong() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.wrong)
}

// OfFence are the spans of the trace in which the fence of a node has ended; none if none has.
func (r *Receiver) OfFence(node string) (all []Span) {
	spans := r.All()
	for _, root := range spans {
		if root.Name != "fence" || root.Attrs["k8s.node.name"] != node {
			continue
		}
		for _, s := range spans {
			if s.Trace == root.Trace {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}
