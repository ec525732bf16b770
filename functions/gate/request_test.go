package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate/open"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// TestARequestThatNoFencePolicyAnswers: a rule believes the event and asks for a fence, and
// nothing says how. Whoever asked finds on the Node why nothing came of it, and what to do.
func TestARequestThatNoFencePolicyAnswers(t *testing.T) {
	now := time.Now()
	answers := cluster(now)
	answers[policyPath] = `{"items":[]}`
	answers[problemsPath] = rulesOf(`{"name":"r","cloudEvent":{"source":"/me","brokerIsClosed":true},"action":"Fence"}`)
	g, written := server(t, answers)
	heard := &refusals{}
	g.Reporter = heard
	if o, err := g.opener().Open(t.Context(), "a", mineNow(now)); o.Fence != nil || err != nil || len(*written) > 0 {
		t.Fatal(o, err, *written)
	}
	want := []string{"node a of UID 1: NoPolicy: no FencePolicy selects node a: apply one whose spec.selector does"}
	if d := cmp.Diff(want, heard.said); d != "" {
		t.Error(d)
	}
}

// TestARequestWhileTheRecordIsDeleted can neither open a fence nor join one, and whoever asks is told (S28).
// The fence that is open goes on.
func TestARequestWhileTheRecordIsDeleted(t *testing.T) {
	now := time.Now()
	record := func(status string) string {
		return `{"metadata":{"name":"a","uid":"f","finalizers":["nodefence.io/undo"],"deletionTimestamp":"` + now.UTC().Format(time.RFC3339) + `"},"spec":{"nodeName":"a"},"status":{"fenceNumber":3,` + status + `}}`
	}
	const after = ": if the node is to be fenced, send a new one after that"
	for name, c := range map[string]struct {
		fence string
		e     event.Event
		want  []string
	}{
		"of an open fence":          {record(`"phase":"Pending","decision":{"nodeUID":"1"}`), mineNow(now), []string{"node a of UID 1: RequestMerged: the fence of this node that is under way ends, and no power was cut" + after}},
		"of another Node's fence":   {record(`"phase":"Pending","decision":{"nodeUID":"0"}`), mineNow(now), []string{"node a of UID 1: RequestMerged: the fence that is under way is of another Node object of this name, and ends" + after}},
		"of a fence that has cut":   {record(`"phase":"Pending","decision":{"nodeUID":"1"},"cutOrReleased":true`), mineNow(now), []string{"node a of UID 1: RequestMerged: the NodeFence of this node is being deleted" + after}},
		"by an object, which waits": {record(`"phase":"Pending","decision":{"nodeUID":"1"}`), events.RequestByObject("a", "/x", events.ObjectReference{Namespace: "own", Name: "a-x", UID: "u"}, now, now), nil},
		"of tomorrow's record":      {record(`"minReaderVersion":99,"phase":"Pending","decision":{"nodeUID":"1"}`), mineNow(now), nil},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			answers[fencePath] = c.fence
			answers[problemsPath] = rulesOf(`{"name":"r","cloudEvent":{"source":"/me","brokerIsClosed":true},"action":"Fence"}`)
			g, written := server(t, answers)
			heard := &refusals{}
			g.Reporter = heard
			o, err := g.opener().Open(t.Context(), "a", c.e)
			if goesOn := o.Next == open.GoOn; err != nil || o.Next == open.Stop || goesOn == strings.Contains(name, "tomorrow") || len(*written) > 0 {
				t.Fatal(o, err, *written)
			}
			if d := cmp.Diff(c.want, heard.said); d != "" {
				t.Error(d)
			}
		})
	}
}

// refusals keeps what is refused, which is said in an Event on the node with this UID.
type refusals struct {
	deaf
	said, told []string
}

func (r *refusals) Remediated(_ context.Context, x report.Remediation) {
	r.told = append(r.told, x.Request.Name)
}

func (r *refusals) Refused(_ context.Context, x report.Refusal) {
	r.said = append(r.said, fmt.Sprintf("node %s of UID %s: %s: %s", x.Node, x.NodeUID, x.Reason, x.Message))
}

// TestARequestWhoseDataIsWrong is refused where its sender looks, if its subject names a node. An event
// that names none is malformed.
func TestARequestWhoseDataIsWrong(t *testing.T) {
	const list = "data: want a JSON object with node, reason, drain and token, or fenceRequest, all optional: json: cannot unmarshal array into Go value of type events.Request"
	for name, c := range map[string]struct {
		typ, subject, data string
		want               []string
		malformed          bool
	}{
		"a drain that is none":           {events.RequestFence, "a", `{"drain":"skip"}`, []string{`node a of UID 1: TokenRefused: data.drain: "skip", write IfReady or Skip, or leave it out`}, false},
		"no object":                      {events.RequestFence, "a", `["x"]`, []string{"node a of UID 1: TokenRefused: " + list}, false},
		"another node":                   {events.RequestFence, "a", `{"node":"b"}`, []string{`node a of UID 1: TokenRefused: attribute subject: "a", and data.node is "b": they must name one node`}, false},
		"another node, of an own type":   {"com.example.rack", "a", `{"node":"b"}`, []string{`node a of UID 1: TokenRefused: attribute subject: "a", and data.node is "b": they must name one node`}, false},
		"of a node that is not there":    {events.RequestFence, "c", `["x"]`, []string{"node c of UID : TokenRefused: " + list}, false},
		"and the subject is none":        {events.RequestFence, "", `{"node":"a","drain":"skip"}`, nil, true},
		"and the subject is no name":     {events.RequestFence, "A 7", `["x"]`, nil, true},
		"nodefence's own, about nothing": {events.NodeUnhealthy, "", `{}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			g, written := server(t, cluster(now))
			heard := &refusals{}
			g.Reporter, g.Loop.Elapsed = heard, g.Client.Clock().Elapsed
			e := event.New()
			e.SetType(c.typ)
			e.SetSource("/me")
			e.SetID("1")
			if c.subject != "" {
				e.SetSubject(c.subject)
			}
			e.SetTime(now)
			_ = e.SetData(event.ApplicationJSON, []byte(c.data))
			reply, err := g.Handle(t.Context(), e)
			if reply != nil || errors.Is(err, run.ErrMalformed) != c.malformed || (err != nil) != c.malformed || len(*written) > 0 {
				t.Error(reply, err, *written)
			}
			if d := cmp.Diff(c.want, heard.said); d != "" {
				t.Error(d)
			}
		})
	}
}
