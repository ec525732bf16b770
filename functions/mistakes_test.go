package functions

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate/checks"
	"github.com/nodefence/nodefence/shared/adopt"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/run"
)

// TestMistakesAndTheirAnswers: mistakes of a new user when the functions are started and
// called. Each answer says what is wrong, and where or what to do. Objects that the API
// server refuses are in test/e2e (TestBadInput).
func TestMistakesAndTheirAnswers(t *testing.T) {
	serve := func(s Settings) error { _, err := Serve(Parts{Settings: s}); return err }
	parts := func(s Settings) error { _, err := NewParts(t.Context(), s, nil, nil, nil); return err }
	adopting := func(function string, these ...adopt.Kind) Settings {
		return Settings{Function: function, Adopt: these, AdoptNamespaces: ask.Namespaces{"a", "bb"}, RequestNamespaces: ask.Namespaces{"a", "b"}}
	}
	call := func(call, invocation time.Duration) error {
		return parts(Settings{DeviceCall: CallTimeout(call), Invocation: invocation})
	}
	environment := func(key, value string) error {
		t.Setenv(key, value)
		defer t.Setenv(key, "20s")
		return run.Environment(&Settings{})
	}
	networks := func(value string) error { return new(checks.Networks).Decode(value) }
	asks := func(change func(*event.Event)) error {
		e := event.New()
		e.SetID("1")
		e.SetSource("/me")
		e.SetType(events.RequestFence)
		e.SetSubject("worker-7")
		e.SetTime(time.Now())
		change(&e)
		return events.Accept(e)
	}
	for mistake, c := range map[string]struct {
		err  error
		says []string
	}{
		"a function's name misspelt":          {serve(Settings{Function: "powr"}), []string{"NODEFENCE_FUNCTION=powr", "there are", "power"}},
		"nowhere to adopt from":               {parts(Settings{Adopt: adopt.Kinds{adopt.FAR}, AdoptNamespaces: ask.Namespaces{"a"}, RequestNamespaces: ask.Namespaces{"b"}}), []string{"NODEFENCE_ADOPT_NAMESPACES has no namespace", "add the one"}},
		"one of two namespaces misspelt":      {serve(adopting("", adopt.FAR)), []string{"NODEFENCE_ADOPT_NAMESPACES has bb", "NODEFENCE_REQUEST_NAMESPACES too"}},
		"no NODE_NAME, and one for mhc":       {serve(adopting("", adopt.FAR, adopt.MHC)), []string{"NODE_NAME is not set"}}, // bb is no mistake
		"no NODE_NAME, where none adopts":     {serve(adopting("power", adopt.FAR)), []string{"NODE_NAME is not set"}},       // it finishes what was begun (S25)
		"resync without a broker":             {serve(Settings{Function: "resync"}), []string{"set K_SINK"}},
		"no NODE_NAME":                        {serve(Settings{Function: "power"}), []string{"NODE_NAME is not set", "spec.nodeName", "none"}},
		"an address for a network":            {networks("10.0.0.7"), []string{`"10.0.0.7" is not a network`, "10.0.0.0/16"}},
		"a call of no time at all":            {environment("NODEFENCE_DEVICE_CALL_TIMEOUT", "0s"), []string{"read NODEFENCE_DEVICE_CALL_TIMEOUT", `"0s"`, "one call to a device takes from 1s to 2m"}},
		"a call of less than no time":         {environment("NODEFENCE_DEVICE_CALL_TIMEOUT", "-20s"), []string{`"-20s"`, "one call to a device takes from 1s to 2m"}},
		"a call without a unit":               {environment("NODEFENCE_DEVICE_CALL_TIMEOUT", "20"), []string{"missing unit", "write for example 20s"}},
		"a call that takes no time":           {call(time.Millisecond, 0), []string{"NODEFENCE_DEVICE_CALL_TIMEOUT=1ms", "one call to a device takes from 1s to 2m"}},
		"a call longer than any may be":       {call(121*time.Second, 10*time.Minute), []string{"NODEFENCE_DEVICE_CALL_TIMEOUT=2m1s", "from 1s to 2m"}},
		"a call longer than a platform waits": {call(21*time.Second, 0), []string{"NODEFENCE_DEVICE_CALL_TIMEOUT=21s", "needs 1m1s", "gives it 1m (NODEFENCE_INVOCATION_TIMEOUT)", "to 61 seconds", "Timeout of each Lambda function", "timeoutSeconds of each Knative Service", "NODEFENCE_INVOCATION_TIMEOUT=1m1s for every function"}},
		"a platform that waits too short":     {call(0, 59*time.Second), []string{"NODEFENCE_DEVICE_CALL_TIMEOUT=20s", "needs 1m,", "gives it 59s"}},
		"a platform that waits for ever":      {call(0, time.Hour), []string{"NODEFENCE_INVOCATION_TIMEOUT=1h", "no invocation takes longer than 10m"}},
		"a network's name":                    {networks("10.0.0.0/16,racks"), []string{`"racks" is not a network`}},
		"a request's type misspelt":           {asks(func(e *event.Event) { e.SetType("io.nodefence.request.fence.v2") }), []string{"attribute type", "did you mean io.nodefence.request.fence.v1?"}},
		"a request's type without a version":  {asks(func(e *event.Event) { e.SetType("io.nodefence.request.fence") }), []string{"attribute type", "did you mean io.nodefence.request.fence.v1?"}},
		"a request without a subject":         {asks(func(e *event.Event) { e.Context = e.Context.Clone(); _ = e.Context.SetSubject("") }), []string{"attribute subject: missing", "name the node"}},
		"a request without a time":            {asks(func(e *event.Event) { _ = e.Context.SetTime(time.Time{}) }), []string{"attribute time: missing"}},
		"a request for no node's name":        {asks(func(e *event.Event) { e.SetSubject("Worker 7") }), []string{"attribute subject", `"Worker 7" is not a node's name`}},
		"a request's data that is a list":     {asks(func(e *event.Event) { _ = e.SetData(event.ApplicationJSON, []string{"x"}) }), []string{"data: want a JSON object with node, reason, drain and token"}},
		"a request that drains as it likes":   {asks(func(e *event.Event) { _ = e.SetData(event.ApplicationJSON, events.Request{Drain: "skip"}) }), []string{`data.drain: "skip", write IfReady or Skip`}},
		"a request that names two nodes": {asks(func(e *event.Event) { _ = e.SetData(event.ApplicationJSON, events.Request{Node: "worker-8"}) }),
			[]string{`"worker-7"`, `"worker-8"`, "must name one node"}},
	} {
		if c.err == nil {
			c.err = errors.New("no answer at all")
		}
		for _, says := range c.says {
			if !strings.Contains(c.err.Error(), says) {
				t.Errorf("%s: %q does not say %q", mistake, c.err, says)
			}
		}
	}
}
