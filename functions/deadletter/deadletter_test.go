package deadletter

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/report"
)

func TestWhatIsSaidOfADeadLetter(t *testing.T) {
	fence := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "node-7", UID: "fence-1"}}
	for name, c := range map[string]struct {
		subject    string
		attributes map[string]string
		fence      *api.NodeFence
		want       report.Loss
	}{
		"of a fence, with Knative's reason": {"node-7",
			map[string]string{ErrorDest: "http://power", ErrorCode: "503", ErrorData: "try again"}, fence,
			report.Loss{Node: "node-7", Fence: fence, Dest: "http://power", Message: "503 try again"}},
		"without a body":   {"node-7", map[string]string{ErrorCode: "404"}, nil, report.Loss{Node: "node-7", Message: "HTTP status 404"}},
		"without a reason": {"node-7", nil, nil, report.Loss{Node: "node-7", Message: "no reason given"}},
		"with an answer in base64, as Knative has it": {"node-7", map[string]string{ErrorCode: "400", ErrorData: inBase64("malformed event: data.drain: \"überall\"\n")}, nil, report.Loss{Node: "node-7", Message: `400 malformed event: data.drain: "überall"`}},
		"with a long one, which Knative has cut":      {"node-7", map[string]string{ErrorCode: "500", ErrorData: inBase64("x" + strings.Repeat("ä", 500))[:1024]}, nil, report.Loss{Node: "node-7", Message: "500 x" + strings.Repeat("ä", 98) + "…"}},
		"with a word that could be base64 of no text": {"node-7", map[string]string{ErrorData: "timeout1"}, nil, report.Loss{Node: "node-7", Message: "timeout1"}},
		"with base64 of control characters":           {"node-7", map[string]string{ErrorData: inBase64("\x00\x01\x02")}, nil, report.Loss{Node: "node-7", Message: "AAEC"}},
		"with base64 whose padding does not fit":      {"node-7", map[string]string{ErrorData: "bm90IHRvZGF5Cg="}, nil, report.Loss{Node: "node-7", Message: "bm90IHRvZGF5Cg="}},
		"about nothing that has a name":               {"", map[string]string{ErrorData: "x"}, fence, report.Loss{Message: "x"}},
	} {
		e := event.New()
		e.SetType("io.nodefence.fence.fencing.v1")
		e.SetSubject(c.subject)
		for k, v := range c.attributes {
			e.SetExtension(k, v)
		}
		var got report.Loss
		d := Reporter{
			Fence: func(context.Context, string) (*api.NodeFence, error) { return c.fence, nil },
			Lost:  func(_ context.Context, l report.Loss) { got = l },
		}
		if reply, err := d.Handle(t.Context(), e); reply != nil || err != nil {
			t.Errorf("%s: %v %v", name, reply, err)
		}
		c.want.Function, got.Event = Name, event.Event{}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestATypeThatNobodyTakes comes of the Trigger, or of the rule, for what begins like
// nodefence's types and is none: no broker has given it up.
func TestATypeThatNobodyTakes(t *testing.T) {
	const asked = `nodefence has no type "io.nodefence.request.fenc.v1": did you mean io.nodefence.request.fence.v1?`
	fence := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "node-7", UID: "fence-1"}}
	for name, c := range map[string]struct {
		typ, given, subject string
		unread              error
		want                []report.Loss
	}{
		"misspelt":                           {typ: "io.nodefence.request.fenc.v1", subject: "node-7", want: []report.Loss{{Unknown: true, Node: "node-7", Fence: fence, Message: asked}}},
		"misspelt, about nothing":            {typ: "io.nodefence.request.fenc.v1", want: []report.Loss{{Unknown: true, Message: asked}}},
		"misspelt, and the record is unread": {typ: "io.nodefence.request.fenc.v1", subject: "node-7", unread: errors.New("away"), want: []report.Loss{{Unknown: true, Node: "node-7", Message: asked}}},
		"misspelt, and given up":             {typ: "io.nodefence.request.fenc.v1", given: "503", subject: "node-7", want: []report.Loss{{Node: "node-7", Fence: fence, Message: "HTTP status 503"}}},
		"somebody else's, and no other":      {typ: "io.nodefender.alarm.raised.v1", subject: "node-7"},
	} {
		e := event.New()
		e.SetType(c.typ)
		e.SetSubject(c.subject)
		if c.given != "" {
			e.SetExtension(ErrorCode, c.given)
		}
		var got []report.Loss
		d := Reporter{
			Fence: func(context.Context, string) (*api.NodeFence, error) { return fence, c.unread },
			Lost:  func(_ context.Context, l report.Loss) { l.Event = event.Event{}; got = append(got, l) },
		}
		if c.unread != nil {
			d.Fence = func(context.Context, string) (*api.NodeFence, error) { return nil, c.unread }
		}
		if reply, err := d.Handle(t.Context(), e); reply != nil || err != nil {
			t.Errorf("%s: %v %v", name, reply, err)
		}
		for i := range c.want {
			c.want[i].Function = Name
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestItIsToldWithoutARecordThatCannotBeRead: not every broker brings a dead letter again.
func TestItIsToldWithoutARecordThatCannotBeRead(t *testing.T) {
	e := event.New()
	e.SetSubject("node-7")
	told := 0
	d := Reporter{
		Fence: func(context.Context, string) (*api.NodeFence, error) { return nil, errors.New("away") },
		Lost: func(_ context.Context, l report.Loss) {
			told++
			if l.Node != "node-7" || l.Fence != nil {
				t.Errorf("told of %q and its record %v", l.Node, l.Fence)
			}
		},
	}
	if _, err := d.Handle(t.Context(), e); err != nil || told != 1 {
		t.Errorf("told %d times: %v", told, err)
	}
}

func inBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
