package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/run"
)

// binaryHeaders are those of an event that is accepted.
func binaryHeaders(change map[string]string) http.Header {
	all := map[string]string{
		"Content-Type":    "application/json",
		"Ce-Specversion":  "1.0",
		"Ce-Id":           "node-7/3",
		"Ce-Source":       "/clusters/one",
		"Ce-Type":         "io.nodefence.fence.fencing.v1",
		"Ce-Subject":      "node-7",
		"Ce-Partitionkey": "node-7",
	}
	maps.Copy(all, change)
	h := http.Header{}
	for k, v := range all {
		if v != "-" {
			h.Set(k, v)
		}
	}
	return h
}

func structuredBody(change map[string]string) string {
	all := map[string]string{
		"specversion": `"1.0"`, "id": `"node-7/3"`, "source": `"/clusters/one"`,
		"type": `"io.nodefence.fence.fencing.v1"`, "subject": `"node-7"`,
		"partitionkey": `"node-7"`, "data": `{"phase":"Fencing"}`,
	}
	maps.Copy(all, change)
	var members []string
	for k, v := range all {
		if v != "-" {
			members = append(members, fmt.Sprintf("%q:%s", k, v))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func post(h http.Handler, header http.Header, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func quiet() run.HTTPOptions {
	return run.HTTPOptions{Logger: slog.New(slog.DiscardHandler)}
}

func silent(context.Context, event.Event) (*event.Event, error) { return nil, nil }

func structured() http.Header {
	return http.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}
}

func TestBothModesReachTheHandlerAsTheSameEvent(t *testing.T) {
	for name, send := range map[string]struct {
		header http.Header
		body   string
	}{
		"binary":                      {binaryHeaders(nil), `{"phase":"Fencing"}`},
		"structured":                  {structured(), structuredBody(map[string]string{"datacontenttype": `"application/json"`})},
		"structured, capital letters": {http.Header{"Content-Type": {"Application/CloudEvents+JSON"}}, structuredBody(map[string]string{"datacontenttype": `"application/json"`})},
	} {
		t.Run(name, func(t *testing.T) {
			var got event.Event
			h := run.HTTP(func(_ context.Context, e event.Event) (*event.Event, error) {
				got = e
				return nil, nil
			}, quiet())
			w := post(h, send.header, send.body)
			if w.Code != http.StatusAccepted || w.Body.Len() != 0 {
				t.Fatalf("got %d %q, want an empty 202", w.Code, w.Body)
			}
			want := map[string]any{"id": "node-7/3", "source": "/clusters/one", "type": "io.nodefence.fence.fencing.v1",
				"subject": "node-7", "partitionkey": "node-7", "data": `{"phase":"Fencing"}`, "contenttype": "application/json"}
			have := map[string]any{"id": got.ID(), "source": got.Source(), "type": got.Type(), "subject": got.Subject(),
				"partitionkey": got.Extensions()["partitionkey"], "data": string(got.Data()), "contenttype": got.DataContentType()}
			if d := cmp.Diff(want, have); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMalformedEventsAreRefusedByTheAttributesName(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		body   string
		want   string
	}{
		"binary without specversion":      {header: binaryHeaders(map[string]string{"Ce-Specversion": "-"}), want: "ce-specversion missing"},
		"binary without id":               {header: binaryHeaders(map[string]string{"Ce-Id": "-"}), want: "ce-id missing"},
		"binary without source":           {header: binaryHeaders(map[string]string{"Ce-Source": "-"}), want: "ce-source missing"},
		"binary without type":             {header: binaryHeaders(map[string]string{"Ce-Type": "-"}), want: "ce-type missing"},
		"binary with an empty subject":    {header: binaryHeaders(map[string]string{"Ce-Subject": " "}), want: "ce-subject empty"},
		"binary of an older version":      {header: binaryHeaders(map[string]string{"Ce-Specversion": "0.3"}), want: `ce-specversion "0.3" not accepted: want 1.0`},
		"binary of a version to come":     {header: binaryHeaders(map[string]string{"Ce-Specversion": "2.0"}), want: `ce-specversion "2.0" not accepted: want 1.0`},
		"binary with a bad time":          {header: binaryHeaders(map[string]string{"Ce-Time": "noon"}), want: `ce-time "noon" is not an RFC 3339 time`},
		"binary with a bad source":        {header: binaryHeaders(map[string]string{"Ce-Source": "%zz"}), want: `ce-source "%zz" is not a URI reference`},
		"binary with a relative schema":   {header: binaryHeaders(map[string]string{"Ce-Dataschema": "fence.json"}), want: `ce-dataschema "fence.json" is not an absolute URI`},
		"binary with a bad name":          {header: binaryHeaders(map[string]string{"Ce-Partition-Key": "x"}), want: "ce-partition-key is not an attribute"},
		"binary with data as a header":    {header: binaryHeaders(map[string]string{"Ce-Data": "x"}), want: "ce-data is not an attribute"},
		"binary with content type as ce-": {header: binaryHeaders(map[string]string{"Ce-Datacontenttype": "x"}), want: "ce-datacontenttype is not an attribute"},
		"binary with a bad media type":    {header: binaryHeaders(map[string]string{"Content-Type": "/;="}), want: `content-type "/;=" is not a media type`},
		"binary with two ids": {header: func() http.Header {
			h := binaryHeaders(nil)
			h.Add("Ce-Id", "other")
			return h
		}(), want: "ce-id given 2 times"},
		"plain JSON without attributes": {header: http.Header{"Content-Type": {"application/json"}}, body: `{}`, want: "ce-specversion missing"},
		"nothing at all":                {header: http.Header{}, want: "ce-specversion missing"},
		"a batch": {header: http.Header{"Content-Type": {"application/cloudevents-batch+json"}}, body: "[]",
			want: `content-type "application/cloudevents-batch+json" not accepted: send one event, binary or application/cloudevents+json`},
		"another event format": {header: http.Header{"Content-Type": {"application/cloudevents+avro"}},
			want: `content-type "application/cloudevents+avro" not accepted: send one event, binary or application/cloudevents+json`},
		"structured without specversion":      {header: structured(), body: structuredBody(map[string]string{"specversion": "-"}), want: "specversion missing"},
		"structured without id":               {header: structured(), body: structuredBody(map[string]string{"id": "-"}), want: "id missing"},
		"structured without source":           {header: structured(), body: structuredBody(map[string]string{"source": "-"}), want: "source missing"},
		"structured without type":             {header: structured(), body: structuredBody(map[string]string{"type": "-"}), want: "type missing"},
		"structured with an empty subject":    {header: structured(), body: structuredBody(map[string]string{"subject": `""`}), want: "subject empty"},
		"structured of an older version":      {header: structured(), body: structuredBody(map[string]string{"specversion": `"0.3"`}), want: `specversion "0.3" not accepted: want 1.0`},
		"structured with a numeric id":        {header: structured(), body: structuredBody(map[string]string{"id": "7"}), want: "id has a value of the wrong type"},
		"structured with a null subject":      {header: structured(), body: structuredBody(map[string]string{"subject": "null"}), want: "subject has a value of the wrong type"},
		"structured with an object extension": {header: structured(), body: structuredBody(map[string]string{"fence": "{}"}), want: "fence has a value of the wrong type"},
		"structured with a bad name":          {header: structured(), body: structuredBody(map[string]string{"Fence": `"x"`}), want: `"Fence" is not an attribute`},
		"structured with a bad time":          {header: structured(), body: structuredBody(map[string]string{"time": `"noon"`}), want: `time "noon" is not an RFC 3339 time`},
		"structured with data twice":          {header: structured(), body: structuredBody(map[string]string{"data_base64": `"AA=="`}), want: "data and data_base64 exclude each other"},
		"structured, not JSON":                {header: structured(), body: "hello", want: "body is not a JSON object"},
		"structured, a list":                  {header: structured(), body: "[]", want: "body is not a JSON object"},
		"structured, null":                    {header: structured(), body: "null", want: "body is not a JSON object"},
		"structured, empty":                   {header: structured(), want: "body is not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			called := false
			h := run.HTTP(func(context.Context, event.Event) (*event.Event, error) {
				called = true
				return nil, nil
			}, quiet())
			w := post(h, c.header, c.body)
			if d := cmp.Diff(c.want+"\n", w.Body.String()); d != "" || w.Code != http.StatusBadRequest || called {
				t.Errorf("status %d, handler called %v: %s", w.Code, called, d)
			}
		})
	}
}

// TestWhoSendsHearsAtOnceWhatIsWrong: a sender gets the error, and not only a dead letter.
func TestWhoSendsHearsAtOnceWhatIsWrong(t *testing.T) {
	const asks, when = "io.nodefence.request.fence.v1", "2026-01-01T00:00:00Z"
	for name, c := range map[string]struct {
		change map[string]string
		status int
		body   string
	}{
		"a request":             {map[string]string{"Ce-Type": asks, "Ce-Time": when}, 202, ""},
		"one without a subject": {map[string]string{"Ce-Type": asks, "Ce-Time": when, "Ce-Subject": "-"}, 400, "malformed event: attribute subject: missing, it must name the node\n"},
		"one without a time":    {map[string]string{"Ce-Type": asks}, 400, "malformed event: attribute time: missing, a request must say when it was made\n"},
		"one of a type with a letter too few": {map[string]string{"Ce-Type": "io.nodefence.request.fenc.v1", "Ce-Time": when}, 400,
			`malformed event: attribute type: nodefence has no type "io.nodefence.request.fenc.v1": did you mean io.nodefence.request.fence.v1?` + "\n"},
	} {
		w := post(run.HTTP(run.Accepting(silent), quiet()), binaryHeaders(c.change), "{}")
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s: got %d %q, want %d %q", name, w.Code, w.Body, c.status, c.body)
		}
	}
}

func TestHandlersOutcomesHaveOneStatusEach(t *testing.T) {
	for name, c := range map[string]struct {
		handler run.Handler
		status  int
		body    string
	}{
		"nothing to say": {silent, 202, ""},
		"malformed for the handler": {func(context.Context, event.Event) (*event.Event, error) {
			return nil, fmt.Errorf("read payload: %w: phase missing", run.ErrMalformed)
		}, 400, "read payload: malformed event: phase missing\n"},
		"malformed, in many words": {func(context.Context, event.Event) (*event.Event, error) {
			return nil, fmt.Errorf("%w: %s", run.ErrMalformed, strings.Repeat("9", 1000))
		}, 400, "malformed event: " + strings.Repeat("9", 512-20) + "…\n"},
		"again": {func(context.Context, event.Event) (*event.Event, error) {
			return nil, run.ErrAgain
		}, 503, "try again\n"},
		"any other error, whose text stays inside": {func(context.Context, event.Event) (*event.Event, error) {
			return nil, errors.New("dial 192.0.2.7 as admin")
		}, 503, "try again\n"},
		"refused, for its sender to read": {func(context.Context, event.Event) (*event.Event, error) {
			return nil, fmt.Errorf("take: %w", &run.Refused{Status: http.StatusForbidden, Words: "ann may not"})
		}, 403, "take: ann may not\n"},
		"panic": {func(context.Context, event.Event) (*event.Event, error) { panic("oops") }, 500, "handler failed\n"},
		"reply without a type": {func(context.Context, event.Event) (*event.Event, error) {
			e := event.New()
			return &e, nil
		}, 500, "handler failed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(run.HTTP(c.handler, quiet()), binaryHeaders(nil), "{}")
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
		})
	}
}

func TestReplyIsBinary(t *testing.T) {
	h := run.HTTP(func(_ context.Context, e event.Event) (*event.Event, error) {
		e.SetType("io.nodefence.fence.releasing.v1")
		return &e, nil
	}, quiet())
	w := post(h, structured(), structuredBody(nil))
	want := map[string]string{"status": "200", "Ce-Type": "io.nodefence.fence.releasing.v1", "Ce-Id": "node-7/3",
		"Ce-Partitionkey": "node-7", "Ce-Specversion": "1.0", "body": `{"phase":"Fencing"}`}
	got := map[string]string{"status": fmt.Sprint(w.Code), "body": w.Body.String()}
	for k := range want {
		if v := w.Header().Get(k); v != "" {
			got[k] = v
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOnlyPostOnTheRoot(t *testing.T) {
	for _, c := range [][2]string{{"GET", "/"}, {"PUT", "/"}, {"OPTIONS", "/"}, {"POST", "/other"}} {
		w := httptest.NewRecorder()
		run.HTTP(silent, quiet()).ServeHTTP(w, httptest.NewRequest(c[0], c[1], nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
			t.Errorf("%v: got %d, allow %q", c, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestBodyLimit(t *testing.T) {
	for size, want := range map[int]int{run.MaxBody: 202, run.MaxBody + 1: 413} {
		if w := post(run.HTTP(silent, quiet()), binaryHeaders(nil), strings.Repeat("x", size)); w.Code != want {
			t.Errorf("%d bytes: got %d %q, want %d", size, w.Code, w.Body, want)
		}
	}
}

func TestLogsNameTheEventAndHoldNoBody(t *testing.T) {
	var out bytes.Buffer
	h := run.HTTP(func(context.Context, event.Event) (*event.Event, error) { panic("oops") },
		run.HTTPOptions{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	post(h, binaryHeaders(nil), `{"password":"hunter2"}`)
	post(h, structured(), `{"password":"hunter2"`)
	for _, want := range []string{"event=node-7/3", "node=node-7", "handler panicked: oops", "http_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log lacks %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Errorf("log holds the body:\n%s", &out)
	}
}

// TestACallerThatHangsUpEndsNoInvocation: a device that is slower than its caller is patient still gets its
// whole call, and the end of the call is saved (S8).
func TestACallerThatHangsUpEndsNoInvocation(t *testing.T) {
	o := quiet()
	o.Invocation = time.Minute
	ctx, hangUp := context.WithCancel(t.Context())
	callers, ended := make(chan context.Context, 1), make(chan error, 1)
	h := run.HTTP(func(ctx context.Context, _ event.Event) (*event.Event, error) {
		caller := <-callers
		hangUp()
		<-caller.Done() // the server has seen it
		ended <- ctx.Err()
		return nil, nil
	}, o)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		callers <- r.Context()
		h.ServeHTTP(w, r)
	}))
	defer s.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = binaryHeaders(nil)
	if resp, err := http.DefaultClient.Do(r); err == nil {
		_ = resp.Body.Close()
		t.Errorf("the caller got %s, and was to hang up", resp.Status)
	}
	if err := <-ended; err != nil {
		t.Errorf("the invocation ended with its caller: %v", err)
	}
}

// TestAnInvocationEndsInItsTime, and not before, in our own server and behind the SDK's (S10: no call
// outlives its deadline).
func TestAnInvocationEndsInItsTime(t *testing.T) {
	const invocation = time.Minute
	type key struct{}
	for name, serve := range map[string]func(ctx context.Context, h run.Handler){
		"HTTP": func(ctx context.Context, h run.Handler) {
			o := quiet()
			o.Invocation = invocation
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader("{}"))
			r.Header = binaryHeaders(nil)
			run.HTTP(h, o).ServeHTTP(httptest.NewRecorder(), r)
		},
		"the SDK": func(ctx context.Context, h run.Handler) {
			_, _ = run.Result(h, invocation, slog.New(slog.DiscardHandler))(ctx, event.New())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, hangUp := context.WithCancel(context.WithValue(t.Context(), key{}, "of the request"))
				begun := time.Now()
				serve(ctx, func(ctx context.Context, _ event.Event) (*event.Event, error) {
					hangUp()
					<-ctx.Done()
					if ctx.Value(key{}) == nil {
						t.Error("the request's values are lost")
					}
					return nil, ctx.Err()
				})
				if took := time.Since(begun); took != invocation {
					t.Errorf("the invocation took %s, want %s", took, invocation)
				}
			})
		})
	}
}
