package eventbridge

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/run/eventbridge/bustest"
)

// connect finds the bus the way a function does: by the SDK's own environment.
func connect(t *testing.T, url string) *Bus {
	t.Helper()
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL": url, "AWS_REGION": "eu-central-1", "AWS_MAX_ATTEMPTS": "1",
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "not-a-secret",
		"AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
	} {
		t.Setenv(k, v)
	}
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(cfg, "nodefence")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sample(t *testing.T) event.Event {
	t.Helper()
	e := event.New()
	e.SetID("1")
	e.SetSource("/nodefence/c1")
	e.SetType("io.nodefence.fence.fencing.v1")
	e.SetSubject("node-7")
	e.SetTime(time.Unix(1700000000, 0))
	e.SetExtension("correlationid", "u-1")
	if err := e.SetData(event.ApplicationJSON, map[string]string{"node": "node-7"}); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWhatIsPutIsTheWholeEvent(t *testing.T) {
	var got []bustest.Entry
	server := bustest.New(func(e bustest.Entry) *bustest.Refusal { got = append(got, e); return nil })
	defer server.Close()
	e := sample(t)
	if err := connect(t, server.URL).Send(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	detail, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := []bustest.Entry{{
		Source: "/nodefence/c1", DetailType: "io.nodefence.fence.fencing.v1", EventBusName: "nodefence",
		Detail: string(detail), Time: 1700000000,
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSend(t *testing.T) {
	busy := &bustest.Refusal{Code: "InternalFailure", Message: "try again"}
	for name, c := range map[string]struct {
		answers []*bustest.Refusal // nil takes the entry
		change  func(*event.Event)
		puts    int
		err     string
	}{
		"taken at once":                           {nil, nil, 1, ""},
		"refused once, then taken":                {[]*bustest.Refusal{busy}, nil, 2, ""},
		"refused three times is the caller's":     {[]*bustest.Refusal{busy, busy, busy}, nil, 3, "put event on bus nodefence: InternalFailure: try again"},
		"an event without a type is never put":    {nil, func(e *event.Event) { e.SetType("") }, 0, "encode event: type: MUST be a non-empty string"},
		"a source that AWS keeps for its own use": {nil, func(e *event.Event) { e.SetSource("aws.ec2") }, 3, "put event on bus nodefence: NotAuthorizedForSourceException: Not authorized for the source."},
	} {
		t.Run(name, func(t *testing.T) {
			left := c.answers
			server := bustest.New(func(bustest.Entry) *bustest.Refusal {
				if len(left) == 0 {
					return nil
				}
				r := left[0]
				left = left[1:]
				return r
			})
			defer server.Close()
			e := sample(t)
			if c.change != nil {
				c.change(&e)
			}
			err := connect(t, server.URL).Send(context.Background(), e)
			if got := text(err); strings.TrimSpace(got) != c.err {
				t.Errorf("got %q, want %q", got, c.err)
			}
			if server.Puts() != c.puts {
				t.Errorf("%d requests, want %d", server.Puts(), c.puts)
			}
		})
	}
}

// TestAnAnswerWithoutAnIDIsNoSuccess: 200 with fewer results than entries, and
// with a result that says nothing.
func TestAnAnswerWithoutAnIDIsNoSuccess(t *testing.T) {
	for answer, want := range map[string]string{
		`{"FailedEntryCount":0,"Entries":[]}`:   "answered for 0 entries instead of 1",
		`{"FailedEntryCount":0,"Entries":[{}]}`: "put event on bus nodefence: no event ID",
	} {
		server := bustest.New(nil)
		server.Config.Handler = answering(answer)
		err := connect(t, server.URL).Send(context.Background(), sample(t))
		if !strings.Contains(text(err), want) {
			t.Errorf("%s: %v", answer, err)
		}
		server.Close()
	}
}

func TestABusThatIsAwayIsAnError(t *testing.T) {
	server := bustest.New(nil)
	b := connect(t, server.URL)
	server.Close()
	if err := b.Send(context.Background(), sample(t)); err == nil || !strings.HasPrefix(err.Error(), "put event on bus nodefence: ") {
		t.Error(err)
	}
}

func TestWhatIsWrongIsSaidBeforeTheFirstEvent(t *testing.T) {
	b := connect(t, "http://bus.invalid")
	cfg := b.client.Options()
	for name, c := range map[string]struct{ bus, region, err string }{
		"no name":   {"", cfg.Region, "the event bus has no name"},
		"no region": {"nodefence", "", "event bus nodefence: no region, set AWS_REGION"},
		"both":      {"nodefence", cfg.Region, ""},
	} {
		t.Setenv("AWS_REGION", c.region)
		conf, err := config.LoadDefaultConfig(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(conf, c.bus); text(err) != c.err {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type answering string

func (a answering) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, _ = w.Write([]byte(a))
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
