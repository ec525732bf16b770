package events

import (
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
)

// TestWhatIsRefusedAtTheDoor: an event that no function could use used to vanish, and its
// sender was told 202.
func TestWhatIsRefusedAtTheDoor(t *testing.T) {
	const asked = "attribute type: nodefence has no type "
	for name, c := range map[string]struct {
		typ, subject, data string
		without            string
		want               string
	}{
		"a request":                               {typ: RequestFence, subject: "node-7"},
		"a request that names its node in data":   {typ: RequestFence, data: `{"node":"node-7"}`},
		"somebody's own":                          {typ: "com.example.rack.lost", subject: "node-7"},
		"nodefence's own":                         {typ: NodeUnhealthy, subject: "node-7"},
		"nodefence's own need not say when":       {typ: NodeUnhealthy, subject: "node-7", without: "time"},
		"a clock's":                               {typ: Ping, without: "time"},
		"a schedule's":                            {typ: Scheduled, without: "time"},
		"of the ApiServerSource about a Pod":      {typ: "dev.knative.apiserver.resource.add", subject: "/api/v1/namespaces/x/pods/y"},
		"of Knative, and nobody's here":           {typ: "dev.knative.kafka.event"},
		"a letter left out":                       {typ: "io.nodefence.request.fenc.v1", subject: "node-7", want: asked + `"io.nodefence.request.fenc.v1": did you mean io.nodefence.request.fence.v1?`},
		"a letter changed, in the prefix":         {typ: "io.nodefense.request.fence.v1", subject: "node-7", want: asked + `"io.nodefense.request.fence.v1": did you mean io.nodefence.request.fence.v1?`},
		"without the version":                     {typ: "io.nodefence.request.fence", subject: "node-7", want: asked + `"io.nodefence.request.fence": did you mean io.nodefence.request.fence.v1?`},
		"capital letters":                         {typ: "io.nodefence.Request.Fence.v1", subject: "node-7", want: asked + `"io.nodefence.Request.Fence.v1": did you mean io.nodefence.request.fence.v1?`},
		"nothing like one of ours after the name": {typ: "io.nodefence.please.cut.node.seven.off", subject: "node-7", want: asked + `"io.nodefence.please.cut.node.seven.off": did you mean io.nodefence.request.fence.v1?`},
		"a wake-up without the version":           {typ: "io.nodefence.internal.check", subject: "node-7", want: asked + `"io.nodefence.internal.check": did you mean io.nodefence.internal.check.v1?`},
		"a schedule's, a letter left out":         {typ: "io.nodefence.internal.schedule.v1", want: asked + `"io.nodefence.internal.schedule.v1": did you mean io.nodefence.internal.scheduled.v1?`},
		"a request without a subject":             {typ: RequestFence, want: "attribute subject: missing, it must name the node"},
		"a request without a time":                {typ: RequestFence, subject: "node-7", without: "time", want: "attribute time: missing, a request must say when it was made"},
		"somebody's own without a time":           {typ: "com.example.rack.lost", subject: "node-7", without: "time", want: "attribute time: missing, a request must say when it was made"},
		"somebody's own without a subject":        {typ: "com.example.rack.lost", want: "attribute subject: missing, it must name the node"},
		"nodefence's own without a subject":       {typ: NodeUnhealthy, want: "attribute subject: missing, it must name the node"},
		"a request that names two nodes":          {typ: RequestFence, subject: "node-7", data: `{"node":"node-8"}`, want: `attribute subject: "node-7", and data.node is "node-8": they must name one node`},
	} {
		e := event.New()
		e.SetID("1")
		e.SetSource("/me")
		e.SetType(c.typ)
		if c.subject != "" {
			e.SetSubject(c.subject)
		}
		if c.without != "time" {
			e.SetTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		}
		if c.data != "" {
			_ = e.SetData(event.ApplicationJSON, []byte(c.data))
		}
		got := ""
		if err := Accept(e); err != nil {
			got = err.Error()
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestATokenIsInNothingThatIsKept (S29: no secret is shown): whatever the data and the
// type.
func TestATokenIsInNothingThatIsKept(t *testing.T) {
	for name, c := range map[string]struct{ typ, data string }{
		"a request":                       {RequestFence, `{"node":"n","token":"hunter2"}`},
		"a request, capital letters":      {RequestFence, `{"Token":"hunter2"}`},
		"a request, cut short":            {RequestFence, `{"node":"n","token":"hunter2`},
		"a request with a comma more":     {RequestFence, `{"token":"hunter2",}`},
		"a request, another field's type": {RequestFence, `{"node":7,"token":"hunter2"}`},
		"a request in a list":             {RequestFence, `[{"token":"hunter2"}]`},
		"a request, deeper":               {RequestFence, `{"request":{"token":["hunter2"]}}`},
		"a form":                          {RequestFence, `token=hunter2`},
		"somebody's own, no JSON":         {"com.example.rack", `token: hunter2`},
		"a misspelt type":                 {"io.nodefence.request.fenc.v1", `{"token":"hunter2"}`},
		"a misspelt type, no JSON":        {"io.nodefence.request.fenc.v1", `hunter2`},
	} {
		e := event.New()
		e.SetType(c.typ)
		e.SetDataContentType(event.ApplicationJSON)
		e.DataEncoded = []byte(c.data)
		if kept := Redacted(e); !HasToken(e) || strings.Contains(kept.String(), "hunter2") || HasToken(kept) {
			t.Errorf("%s: has a token %v, after that %v, kept is %s", name, HasToken(e), HasToken(kept), kept)
		}
	}
	for name, c := range map[string]struct{ typ, data string }{
		"a request without one": {RequestFence, `{"node":"n","token":""}`},
		"nodefence's own":       {NodeUnhealthy, `{"token":"x"}`},
		"no data":               {RequestFence, ``},
	} {
		e := event.New()
		e.SetType(c.typ)
		e.DataEncoded = []byte(c.data)
		if HasToken(e) || string(Redacted(e).Data()) != c.data {
			t.Errorf("%s was changed", name)
		}
	}
}
