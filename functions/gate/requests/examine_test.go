package requests

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

// newJudge returns a judge whose API server has no objects, and knows no token.
func newJudge(t *testing.T) *Judge {
	t.Helper()
	client := kubetest.Client(t, kubetest.Table[string](nil, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		kubetest.Answer(w, string(body))
	}))
	return &Judge{Client: client, Log: slog.New(slog.DiscardHandler)}
}

// TestARequestIsAnsweredOnce: a fence answers to whatever was asked while it was open,
// also when a broker brings that a second time after its end (S7, S18). What is asked
// while one is open passes, to join it.
func TestARequestIsAnsweredOnce(t *testing.T) {
	j := newJudge(t)
	now := j.Client.Clock().Now()
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
			trigger, refused, err := j.examine(t.Context(), e, n, policies, rules, c.fence)
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
	j := newJudge(t)
	created := j.Client.Clock().Now().Truncate(time.Second).Add(-time.Minute)
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
		_, refused, err := j.examine(t.Context(), e, n, policies, rules, nil)
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
	j := newJudge(t) // whose API server knows no token at all
	now := j.Client.Clock().Now().Truncate(time.Second)
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
			_, refused, err := j.examine(t.Context(), e, n, policies, nil, c.fence)
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
		j := newJudge(t)
		_, refused, err := j.examine(t.Context(), e, &corev1.Node{}, nil, nil, nil)
		if err != nil || refused == nil || refused.message != unnamed {
			t.Errorf("%v %+v", err, refused)
		}
	}
	if r := askedBy(at(long[1:], "/me", "t"), now); r == nil || r.ID != long[1:] || !r.JoinedAt.Time.Equal(now) {
		t.Errorf("%+v", r)
	}
}
