package run

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nodefence/nodefence/events"
)

// FuzzStructured reads a body that claims to be a CloudEvent.
func FuzzStructured(f *testing.F) {
	golden, err := filepath.Glob("../../events/testdata/*.json")
	if err != nil || len(golden) == 0 {
		f.Fatal(golden, err)
	}
	for _, path := range golden {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{"specversion":"1.0","id":"1","source":"/a","type":"io.nodefence.request.fence.v1","subject":"n","data":{"node":"m"}}`))
	f.Add([]byte(`{"specversion":"1.0","id":"1","source":"/a","type":"x","data":1,"data_base64":"eA=="}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := Structured(t.Context(), body)
		if err != nil {
			return
		}
		var sent struct{ ID, Source, Type, Subject string }
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatalf("%q is no JSON, and was taken: %v", body, err)
		}
		taken(t, e)
	})
}

// FuzzBinary reads an event whose attributes are headers. Attributes of an event are those of its
// headers, and its data the body: nothing in the body becomes an attribute. Space at the ends of a header is no part
// of its value (RFC 9110, 5.5).
func FuzzBinary(f *testing.F) {
	f.Add("io.nodefence.request.fence.v1", "/a", "n", "application/json", "expirytime", "2026-01-01T00:00:00Z", []byte(`{"reason":"why"}`))
	f.Add("io.nodefence.fence.fencing.v1", "/nodefence/c", "n", "", "datacontenttype", "x", []byte(`{}`))
	f.Add("x", "a b", "", "application/cloudevents-batch+json", "ID", "2", []byte{})
	f.Fuzz(func(t *testing.T, kind, source, subject, content, name, value string, body []byte) {
		h := http.Header{"Ce-Specversion": {"1.0"}, "Ce-Id": {"1"}, "Ce-Type": {kind}, "Ce-Source": {source}}
		if subject != "" {
			h.Set("Ce-Subject", subject)
		}
		if content != "" {
			h.Set("Content-Type", content)
		}
		h["Ce-"+name] = append(h["Ce-"+name], value)
		e, err := decode(t.Context(), h, body)
		if err != nil {
			return
		}
		if h.Get("Content-Type") == content && e.DataContentType() == content && content != event.ApplicationCloudEventsJSON {
			if e.Type() != strings.TrimSpace(h.Get("Ce-Type")) || string(e.Data()) != string(body) {
				t.Errorf("type %q and data %q became %q and %q", h.Get("Ce-Type"), body, e.Type(), e.Data())
			}
		}
		taken(t, e)
	})
}

// taken checks what holds of each event that was read: it is valid, its node has the name of a Node
// (S18: a path of another object is no node), and what is kept of it has no token (S29).
func taken(t *testing.T, e event.Event) {
	t.Helper()
	if err := e.Validate(); err != nil {
		t.Errorf("an event was taken that is none: %v", err)
	}
	if node, err := events.Node(e); err == nil && len(validation.IsDNS1123Subdomain(node)) > 0 {
		t.Errorf("%q is taken for a node's name", node)
	}
	if kept := events.Redacted(e); events.HasToken(kept) && len(kept.Data()) > 0 {
		var data struct{ Token string }
		if err := json.Unmarshal(kept.Data(), &data); err == nil && data.Token != "[redacted]" && data.Token != "" {
			t.Errorf("the token %q is kept", data.Token)
		}
	}
	_, _ = events.ReadRequest(e)
	_, _ = events.ReadFenceRequestChanged(e)
}
