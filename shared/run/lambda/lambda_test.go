package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/run"
)

// bus remembers what it was sent, or fails.
type bus struct {
	sent []string
	err  error
}

func (b *bus) Send(_ context.Context, e event.Event) error {
	b.sent = append(b.sent, e.ID())
	return b.err
}

func cloudEvent(id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("/nodefence/c1")
	e.SetType("io.nodefence.fence.fencing.v1")
	e.SetSubject("node-7")
	_ = e.SetData(event.ApplicationJSON, map[string]string{"node": "node-7"})
	return e
}

func bare(t *testing.T, change func(map[string]any)) []byte {
	t.Helper()
	b, err := json.Marshal(cloudEvent("1"))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(m)
	}
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return b
}

// wrapped is the event as EventBridge hands it to a Lambda function.
func wrapped(detail []byte, source, detailType string) []byte {
	return fmt.Appendf(nil, `{"version":"0","id":"e-1","detail-type":%q,"source":%q,"account":"123456789012",`+
		`"time":"2026-01-02T03:04:05Z","region":"eu-central-1","resources":[],"detail":%s}`, detailType, source, detail)
}

const tick = `{"version":"0","id":"53dc4d37","detail-type":"Scheduled Event","source":"aws.events","account":"123456789012",
"time":"2026-01-02T03:04:05Z","region":"eu-central-1","resources":["arn:aws:events:eu-central-1:123456789012:rule/wake"],"detail":{}}`

func TestInvoke(t *testing.T) {
	const typ, source = "io.nodefence.fence.fencing.v1", "/nodefence/c1"
	good := wrapped(bare(t, nil), source, typ)
	answer := func(ids ...string) run.Handler {
		return func(context.Context, event.Event) (*event.Event, error) {
			e := cloudEvent(ids[0])
			return &e, nil
		}
	}
	quiet := func(context.Context, event.Event) (*event.Event, error) { return nil, nil }
	fails := func(err error) run.Handler {
		return func(context.Context, event.Event) (*event.Event, error) { return nil, err }
	}
	for name, c := range map[string]struct {
		payload []byte
		handle  run.Handler
		busErr  error
		handled string
		sent    []string
		again   bool
		log     string
	}{
		"in an envelope, with a reply":            {payload: good, handle: answer("2"), handled: "1", sent: []string{"2"}},
		"bare, without a reply":                   {payload: bare(t, nil), handle: quiet, handled: "1"},
		"a rule's tick":                           {payload: []byte(tick), handle: quiet, handled: "53dc4d37"},
		"a failure is tried again":                {payload: good, handle: fails(run.ErrAgain), handled: "1", again: true, log: "try again"},
		"so is every other error":                 {payload: good, handle: fails(errors.New("secret inner text")), handled: "1", again: true, log: "secret inner text"},
		"a panic is tried again":                  {payload: good, handle: func(context.Context, event.Event) (*event.Event, error) { panic("oh") }, again: true, log: "handler panicked: oh"},
		"malformed for the handler is over":       {payload: good, handle: fails(fmt.Errorf("%w: attribute subject: missing", run.ErrMalformed)), handled: "1", log: "attribute subject: missing"},
		"a reply that the bus does not take":      {payload: good, handle: answer("2"), busErr: errors.New("no bus"), handled: "1", sent: []string{"2"}, again: true, log: "no bus"},
		"no JSON":                                 {payload: []byte("{"), log: "neither a CloudEvent nor an EventBridge event"},
		"JSON of something else":                  {payload: []byte(`{"Records":[]}`), log: "neither specversion nor detail-type"},
		"not an object":                           {payload: []byte(`[]`), log: "neither a CloudEvent nor an EventBridge event"},
		"detail lacks an attribute":               {payload: wrapped(bare(t, func(m map[string]any) { delete(m, "id") }), source, typ), log: "detail: id missing"},
		"detail has an attribute of a wrong type": {payload: wrapped(bare(t, func(m map[string]any) { m["source"] = 7 }), source, typ), log: "detail: source has a value of the wrong type"},
		"bare with an old version":                {payload: bare(t, func(m map[string]any) { m["specversion"] = "0.3" }), log: `specversion \"0.3\" not accepted`},
		"detail is not an event at all":           {payload: wrapped([]byte(`{"bucket":"b"}`), source, typ), log: "detail: specversion missing"},
		"another type than it was routed by":      {payload: wrapped(bare(t, nil), source, "io.nodefence.fence.poweringon.v1"), log: "differs from detail-type"},
		"another source than the envelope's":      {payload: wrapped(bare(t, nil), "/nodefence/c2", typ), log: "differs from the envelope's"},
		"an event of AWS itself":                  {payload: wrapped([]byte(`{"state":"stopped"}`), "aws.ec2", "EC2 Instance State-change Notification"), log: `"reason":"Foreign"`},
		"longer than is read":                     {payload: wrapped(bare(t, func(m map[string]any) { m["data"] = strings.Repeat("x", run.MaxBody) }), source, typ), log: "event longer than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			b, handled := &bus{err: c.busErr}, ""
			f := New(func(ctx context.Context, e event.Event) (*event.Event, error) {
				if c.handle == nil {
					t.Fatalf("handled %s", e)
				}
				r, err := c.handle(ctx, e)
				handled = e.ID()
				return r, err
			}, b, slog.New(slog.NewJSONHandler(&log, nil)))
			_, err := f.Invoke(context.Background(), c.payload)
			if handled != c.handled {
				t.Errorf("handled %q, want %q", handled, c.handled)
			}
			if d := cmp.Diff(c.sent, b.sent); d != "" {
				t.Errorf("sent:\n%s", d)
			}
			if (err != nil) != c.again || (err != nil && err.Error() != run.ErrAgain.Error()) {
				t.Errorf("error %v, want again: %v", err, c.again)
			}
			if !strings.Contains(log.String(), c.log) || (c.log == "" && log.Len() > 0) {
				t.Errorf("log %q lacks %q", log.String(), c.log)
			}
		})
	}
}

// TestAnInvocationEndsWithWhatComesAfter its reply, whatever became of it.
func TestAnInvocationEndsWithWhatComesAfter(t *testing.T) {
	for name, err := range map[string]error{"a reply": nil, "a failure": run.ErrAgain} {
		b, before := &bus{}, -1
		f := New(func(context.Context, event.Event) (*event.Event, error) {
			e := cloudEvent("2")
			return &e, err
		}, b, slog.New(slog.DiscardHandler))
		f.After(func(context.Context) { before = len(b.sent) })
		_, _ = f.Invoke(context.Background(), bare(t, nil))
		if want := len(b.sent); before != want || err == nil && want != 1 {
			t.Errorf("%s: %d sent before, %d in all", name, before, want)
		}
	}
}

// given is what Lambda sends to a function's failure destination.
func given(payload []byte) []byte {
	return wrapped(fmt.Appendf(nil, `{"version":"1.0","timestamp":"2026-01-02T03:04:05.678Z","requestContext":{"requestId":"r-1",`+
		`"functionArn":"arn:aws:lambda:eu-central-1:123456789012:function:nodefence-power:$LATEST","condition":"RetriesExhausted","approximateInvokeCount":3},`+
		`"requestPayload":%s,"responseContext":{"statusCode":200,"executedVersion":"$LATEST","functionError":"Unhandled"},`+
		`"responsePayload":{"errorMessage":"try again","errorType":"errorString"}}`, payload), "lambda", "Lambda Function Invocation Result - Failure")
}

// TestAnEventThatWasGivenUpSaysWhereAndWhy: as Knative says it of a dead letter.
func TestAnEventThatWasGivenUpSaysWhereAndWhy(t *testing.T) {
	original := wrapped(bare(t, nil), "/nodefence/c1", "io.nodefence.fence.fencing.v1")
	got, err := read(context.Background(), given(original))
	if err != nil {
		t.Fatal(err)
	}
	want := cloudEvent("1")
	want.SetExtension("knativeerrordest", "arn:aws:lambda:eu-central-1:123456789012:function:nodefence-power:$LATEST")
	want.SetExtension("knativeerrordata", "RetriesExhausted: try again")
	if d := cmp.Diff(want.String(), got.String()); d != "" {
		t.Error(d)
	}
	for name, c := range map[string]struct {
		payload []byte
		want    string
	}{
		"of a failure's failure": {given(given(original)), "requestPayload is itself of another invocation"},
		"of what is no event":    {given([]byte(`{"a":1}`)), "requestPayload: neither specversion nor detail-type"},
		"without a payload":      {wrapped([]byte(`{}`), "lambda", "Lambda Function Invocation Result - Failure"), "requestPayload: "},
		"not an object":          {wrapped([]byte(`7`), "lambda", "Lambda Function Invocation Result - Failure"), "detail is not an invocation's failure"},
	} {
		if _, err := read(context.Background(), c.payload); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAScheduledEventKeepsItsRuleAndTime(t *testing.T) {
	got, err := read(context.Background(), []byte(tick))
	if err != nil {
		t.Fatal(err)
	}
	want := event.New()
	want.SetType(events.Scheduled)
	want.SetID("53dc4d37")
	want.SetSource("arn:aws:events:eu-central-1:123456789012:rule/wake")
	want.SetTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if d := cmp.Diff(want.String(), got.String()); d != "" {
		t.Error(d)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

// TestAHandlerEndsBeforeItsInvocation: it hears of the end while there is still
// time to answer (S10).
func TestAHandlerEndsBeforeItsInvocation(t *testing.T) {
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	var got time.Time
	f := New(func(ctx context.Context, _ event.Event) (*event.Event, error) {
		got, _ = ctx.Deadline()
		return nil, nil
	}, &bus{}, nil)
	if _, err := f.Invoke(ctx, bare(t, nil)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(end.Add(-margin), got); d != "" {
		t.Error(d)
	}
}

// TestWhatComesAfterEndsBeforeTheInvocation: Lambda kills a process that is late, and with it what the
// next invocation would find.
func TestWhatComesAfterEndsBeforeTheInvocation(t *testing.T) {
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	f := New(func(context.Context, event.Event) (*event.Event, error) { return nil, nil }, &bus{}, nil)
	var got time.Time
	f.After(func(ctx context.Context) { got, _ = ctx.Deadline() })
	if _, err := f.Invoke(ctx, bare(t, nil)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(end.Add(-500*time.Millisecond), got); d != "" {
		t.Error(d)
	}
}

// TestAnInvocationThatGetsTooLittleTimeIsTold, once: the process can't see Lambda's Timeout before.
func TestAnInvocationThatGetsTooLittleTimeIsTold(t *testing.T) {
	for gets, want := range map[time.Duration]int{time.Hour: 0, 100 * time.Second: 0, 90 * time.Second: 1, time.Second: 1} {
		var log bytes.Buffer
		f := New(func(context.Context, event.Event) (*event.Event, error) { return nil, nil }, &bus{}, slog.New(slog.NewJSONHandler(&log, nil)))
		f.Expects(100 * time.Second)
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), gets)
			_, _ = f.Invoke(ctx, bare(t, nil))
			cancel()
		}
		if got := strings.Count(log.String(), "set the function's Timeout"); got != want {
			t.Errorf("it gets %s: told %d times, want %d: %s", gets, got, want, log.String())
		}
	}
}
