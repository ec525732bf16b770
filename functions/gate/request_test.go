package gate

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// TestARequestIsAnsweredOnce: a fence answers to whatever was asked while it was open,
// also when a broker brings that a second time after its end (S7, S18). What is asked
// while one is open passes, to join it.
func TestARequestIsAnsweredOnce(t *testing.T) {
	g, _ := server(t, nil)
	now := g.Client.Clock().Now()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}
	policies := []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}}}
	rules := []nodeproblem.Rule{{Policy: "q", Name: "west", Source: "/racks/west", Type: events.RequestFence, Count: 1, Action: api.ProblemFence}}
	since := func(ago time.Duration) *api.Time { m := metav1.NewMicroTime(now.Add(-ago)); return &m }
	fence := func(phase api.Phase, ago time.Duration) *api.NodeFence {
		return &api.NodeFence{Status: api.NodeFenceStatus{Decision: api.Decision{NodeUID: "1"}, FenceNumber: 1, Phase: phase, PhaseSince: since(ago)}}
	}
	for name, c := range map[string]struct {
		fence *api.NodeFence
		sent  time.Duration // ago
		want  api.Reason
	}{
		"of a node that never had a fence":  {nil, time.Minute, ""},
		"while one is open":                 {fence(api.Fencing, time.Minute), time.Second, ""},
		"sent before that one's last phase": {fence(api.Fencing, time.Minute), 2 * time.Minute, ""},
		"while one is being undone":         {fence(api.Recovering, time.Minute), time.Second, api.RequestMerged},
		"sent before the last one ended":    {fence(api.Finished, time.Minute), 2 * time.Minute, api.RequestMerged},
		"sent after the last one ended":     {fence(api.Finished, 2*time.Minute), time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := event.New()
			e.SetType(events.RequestFence)
			e.SetSource("/racks/west")
			e.SetID("1")
			e.SetSubject("a")
			e.SetTime(now.Add(-c.sent))
			trigger, refused, err := g.judge().examine(t.Context(), e, n, policies, rules, c.fence)
			if err != nil {
				t.Fatal(err)
			}
			var got api.Reason
			if refused != nil {
				got = refused.why
			}
			if got != c.want || (trigger == nil) != (c.want != "") {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestARequestForAnEarlierNode of the name is none for the Node that has it now (S6, S11). The API server
// tells whole seconds of a Node's creation.
func TestARequestForAnEarlierNode(t *testing.T) {
	g, _ := server(t, nil)
	created := g.Client.Clock().Now().Truncate(time.Second).Add(-time.Minute)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", CreationTimestamp: metav1.NewTime(created)}}
	policies := []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}}}
	rules := []nodeproblem.Rule{{Policy: "q", Name: "west", Source: "/racks/west", Type: events.RequestFence, Count: 1, Action: api.ProblemFence}}
	for name, c := range map[string]struct {
		sent time.Duration // after its creation
		want string
	}{
		"sent before it was created":        {-time.Millisecond, "NoSuchNode: it was sent at " + created.Add(-time.Second).UTC().Format(time.RFC3339) + ", and another Node has that name since " + created.UTC().Format(time.RFC3339) + ": if that one is to be fenced, send a new one"},
		"sent in that second":               {0, ""},
		"sent since":                        {time.Second, ""},
		"sent before it, and much too long": {-time.Hour, "RequestTooOld: made at " + created.Add(-time.Hour).UTC().Format(time.RFC3339) + ", which is not within 15m0s of now"},
	} {
		e := event.New()
		e.SetType(events.RequestFence)
		e.SetSource("/racks/west")
		e.SetID("1")
		e.SetSubject("a")
		e.SetTime(created.Add(c.sent))
		_, refused, err := g.judge().examine(t.Context(), e, n, policies, rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if refused != nil {
			got = string(refused.why) + ": " + refused.message
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestATokenIsGoodOnce: whoever sees its event can send it again with another source
// and a later time, for as long as the token lives (S29).
func TestATokenIsGoodOnce(t *testing.T) {
	g, _ := server(t, nil) // whose API server knows no token at all
	now := g.Client.Clock().Now().Truncate(time.Second)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}
	policies := []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}}}
	fence := func(asked string, past ...string) *api.NodeFence {
		ended := metav1.NewMicroTime(now.Add(500*time.Millisecond - time.Minute))
		f := &api.NodeFence{Status: api.NodeFenceStatus{FenceNumber: 1}}
		if asked != "" {
			f.Status.Decision.AskedBy = []api.AskedBy{{ID: asked, Source: "/me"}}
		}
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, FenceNumber: 1, Phase: api.Finished, PhaseSince: &ended}
		for _, p := range past {
			f.Status.Past = append(f.Status.Past, api.PastFence{AskedBy: []api.PastAskedBy{{ID: p, Source: "/me"}}})
		}
		return f
	}
	const unknown, old = "the API server does not accept it for audience io.nodefence.request.fence.v1/a/8: make one with kubectl create token SERVICEACCOUNT --audience=io.nodefence.request.fence.v1/a/8 --duration=10m", "the token was made before this node's last fence ended"
	for name, c := range map[string]struct {
		fence *api.NodeFence
		made  time.Duration // ago
		want  api.Reason
		words string
	}{
		"of a node that never had a fence":           {nil, 5 * time.Minute, api.TokenRefused, unknown},
		"made after the last fence":                  {fence(""), 30 * time.Second, api.TokenRefused, unknown},
		"made in the second in which that ended":     {fence(""), time.Minute, api.TokenRefused, unknown},
		"that, and its event opened it":              {fence("8"), time.Minute, api.RequestServedAlready, "event 8 of /else"},
		"made in the second before":                  {fence(""), time.Minute + time.Second, api.TokenRefused, old},
		"its event opened the last fence":            {fence("8"), 30 * time.Second, api.RequestServedAlready, "event 8 of /else"},
		"its event opened one before":                {fence("", "7", "8"), 30 * time.Second, api.RequestServedAlready, "event 8 of /else"},
		"another ID that begins alike":               {fence("", "88"), 30 * time.Second, api.TokenRefused, unknown},
		"its event came while the last one was open": {fence("1"), 2 * time.Minute, api.TokenRefused, old},
	} {
		t.Run(name, func(t *testing.T) {
			iat := now.Add(-c.made).Unix()
			claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"iat":%d,"exp":%d}`, iat, iat+600))
			e := event.New()
			e.SetType(events.RequestFence)
			e.SetSource("/else")
			e.SetID("8")
			e.SetSubject("a")
			e.SetTime(now)
			if err := e.SetData(event.ApplicationJSON, events.Request{Token: "x." + claims + ".x"}); err != nil {
				t.Fatal(err)
			}
			_, refused, err := g.judge().examine(t.Context(), e, n, policies, nil, c.fence)
			if err != nil {
				t.Fatal(err)
			}
			if refused == nil || refused.why != c.want || !strings.HasPrefix(refused.message, c.words) {
				t.Errorf("%+v, want %s: %s", refused, c.want, c.words)
			}
		})
	}
}

// TestAnEventThatNoRecordCanName asks for nothing: what is used up must be known by its name (S7).
func TestAnEventThatNoRecordCanName(t *testing.T) {
	now := time.Now()
	at := func(id, source, typ string) event.Event {
		e := event.New()
		e.SetID(id)
		e.SetSource(source)
		e.SetType(typ)
		return e
	}
	long := strings.Repeat("x", longestName+1)
	for _, e := range []event.Event{at(long, "/me", "t"), at("1", "/"+long, "t"), at("1", "/me", long)} {
		if r := askedBy(e, now); r != nil {
			t.Errorf("it is named: %+v", r)
		}
		e.SetSubject("a")
		e.SetTime(now)
		if err := e.SetData(event.ApplicationJSON, events.Request{}); err != nil {
			t.Fatal(err)
		}
		g, _ := server(t, nil)
		_, refused, err := g.judge().examine(t.Context(), e, &corev1.Node{}, nil, nil, nil)
		if err != nil || refused == nil || refused.message != unnamed {
			t.Errorf("%v %+v", err, refused)
		}
	}
	if r := askedBy(at(long[1:], "/me", "t"), now); r == nil || r.ID != long[1:] || !r.JoinedAt.Time.Equal(now) {
		t.Errorf("%+v", r)
	}
}

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
	if o, _, _, err := g.open(t.Context(), "a", mineNow(now)); o != nil || err != nil || len(*written) > 0 {
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
			o, _, done, err := g.open(t.Context(), "a", c.e)
			if goesOn := o != nil && o.goesOn; err != nil || done || goesOn == strings.Contains(name, "tomorrow") || len(*written) > 0 {
				t.Fatal(o, done, err, *written)
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
