package report

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhatIsToldOfALostEvent: whether somebody has to do something for it, in the log and in the Event.
func TestWhatIsToldOfALostEvent(t *testing.T) {
	const goesOn, once = "; the fence is looked at again at the next resync", "; nothing repeats a request for a fence: send a new one, or create a FenceRequest"
	for name, c := range map[string]struct {
		typ     string
		data    any
		unknown bool
		want    string
	}{
		"of a fence":                   {typ: events.OfPhase(api.Fencing), want: "was given up by the broker: 503" + goesOn},
		"of a problem":                 {typ: events.NodeProblem, want: "was given up by the broker: 503" + goesOn},
		"a request":                    {typ: events.RequestFence, data: events.Request{Reason: "no cooling"}, want: "was given up by the broker: 503" + once},
		"a request that can't be read": {typ: events.RequestFence, data: []string{"x"}, want: "was given up by the broker: 503" + once},
		"a request by an object":       {typ: events.RequestFence, data: events.Request{FenceRequest: &events.ObjectReference{Namespace: "n", Name: "a", UID: "u"}}, want: "was given up by the broker: 503" + goesOn},
		"of somebody's own type":       {typ: "com.example.rack", want: "was given up by the broker: 503" + once},
		"misspelt":                     {typ: "io.nodefense.request.fence.v1", unknown: true, want: "went to nobody: 503"},
	} {
		h, log := &heard{}, &bytes.Buffer{}
		e := event.New()
		e.SetID("1")
		e.SetSource("/me")
		e.SetType(c.typ)
		if c.data != nil {
			_ = e.SetData(event.ApplicationJSON, c.data)
		}
		f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}
		New(slog.New(slog.NewTextHandler(log, nil)), h, prometheus.NewRegistry()).Lost(t.Context(), Loss{Event: e, Unknown: c.unknown, Message: "503", Fence: f})
		var told []string
		for _, e := range h.events {
			told = append(told, e.Message)
		}
		if d := cmp.Diff([]string{"event 1 of /me " + c.want}, told); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if _, words, _ := strings.Cut(c.want, ": "); !strings.Contains(log.String(), `message="`+words+`"`) && !strings.Contains(log.String(), "message="+words+"\n") {
			t.Errorf("%s: the log lacks %q: %s", name, words, log)
		}
	}
}
