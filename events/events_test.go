package events

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"

	"github.com/nodefence/nodefence/test/golden"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)

// asking is a FenceRequest.
var asking = ObjectReference{Namespace: "nodefence-system", Name: "node-7-x2b4z", UID: "55555555-4444-3333-2222-111111111111"}

// approved is the record of an approval, switchedBack that of a start of which less is known.
var (
	approved = &api.FenceAct{ObjectMeta: metav1.ObjectMeta{Name: "11111111-2222-3333-4444-555555555555-approve-0123456789abcdef"}, Spec: api.FenceActSpec{
		Object: api.ActObject{Kind: "NodeFence", Name: "node-7", UID: "11111111-2222-3333-4444-555555555555", Generation: 3}, Field: api.ActApprove,
		To: "fence 2", At: metav1.NewMicroTime(at), By: "ann@example.com", Reason: "seen dead on its console", FenceNumber: 2,
	}}
	switchedBack = &api.FenceAct{ObjectMeta: metav1.ObjectMeta{Name: "66666666-2222-3333-4444-555555555555-stop-0123456789abcdef"}, Spec: api.FenceActSpec{
		Object: api.ActObject{Kind: "FenceLedger", Name: "cluster", UID: "66666666-2222-3333-4444-555555555555", Generation: 9}, Field: api.ActStop,
		From: "true", To: "false", At: metav1.NewMicroTime(at), Seen: true, MadeBefore: true, Unnamed: true, Manager: "kubectl-patch",
	}}
)

func fenceIn(p api.Phase) *api.NodeFence {
	return &api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "node-7", UID: "11111111-2222-3333-4444-555555555555"},
		Spec:       api.NodeFenceSpec{NodeName: "node-7"},
		Status:     api.NodeFenceStatus{Decision: api.Decision{NodeUID: "99999999-8888-7777-6666-555555555555"}, FenceNumber: 2, Phase: p, Reason: api.Admitted, Message: "within all limits", Transitions: 5},
	}
}

func sample(typ string) event.Event {
	s := SourceOf("cluster-1")
	switch typ {
	case NodeUnhealthy, NodeHealthy:
		return s.Condition(ConditionChange{
			Node: "node-7", NodeUID: "99999999-8888-7777-6666-555555555555", Condition: "Ready", Status: "Unknown",
			Reason: "NodeStatusUnknown", Since: at, Unhealthy: typ == NodeUnhealthy,
		}, time.Time{}, at)
	case NodeMarked:
		return s.Marked("node-7", "99999999-8888-7777-6666-555555555555", "11111111-2222-3333-4444-555555555555", at, at)
	}
	if typ == NodeDumping {
		return s.Dumping("node-7", "99999999-8888-7777-6666-555555555555", "10.0.0.7", at, at.Add(time.Minute), 6)
	}
	if typ == FenceReported {
		return s.Reported(reportSample(), at)
	}
	if typ == NodeSuspect {
		return s.Suspect("node-7", "99999999-8888-7777-6666-555555555555", "2026-01-02T03:04:05.000678Z", at, time.Time{}, at)
	}
	if typ == FenceRequestChanged {
		return s.FenceRequestChanged("node-7", asking, "1", at)
	}
	if typ == PersonActed {
		return s.Act(approved, at.Add(time.Second))
	}
	if typ == NodeCheck {
		return s.Check("node-7", "99999999-8888-7777-6666-555555555555", at, at.Add(40*time.Second), at)
	}
	if typ == NodeCheckIsolation {
		until := at.Add(40 * time.Second)
		return s.CheckIsolation("node-7", "99999999-8888-7777-6666-555555555555", until, at.Add(time.Second), s.Check("node-7", "99999999-8888-7777-6666-555555555555", at, until, at))
	}
	if typ == NodeProblem {
		return s.Problem(problem("kernel-monitor", "TaskHung", "task sh:1 blocked for more than 120 seconds.", 3), at)
	}
	if typ == PodsFailing {
		r := problem("kubelet", "FailedAttachVolume", "timed out", 3)
		r.Pod = "shop/db-0"
		return s.Failing(s.Problem(r, at), "node-7", at)
	}
	if typ == RequestFence {
		e := event.New()
		e.SetID("rack-7-2026-01-02")
		e.SetType(typ)
		e.SetSource("/racks/west")
		e.SetSubject("node-7")
		e.SetTime(at)
		e.SetDataSchema(SchemaID(typ))
		_ = e.SetData(event.ApplicationJSON, Request{Reason: "no cooling"})
		return e
	}
	p, _ := PhaseOf(typ)
	return s.Phase(fenceIn(p), at.Add(2*time.Second), at)
}

func problem(component, reason, message string, count int64) ProblemReport {
	return ProblemReport{
		Node: "node-7", NodeUID: "99999999-8888-7777-6666-555555555555", Report: "77777777-6666-5555-4444-333333333333",
		Component: component, Reason: reason, Message: message, Count: count, First: at.Add(-time.Minute), Last: at,
	}
}

func TestSchemasAndSamplesAreWhatIsWritten(t *testing.T) {
	for _, typ := range append(Types(), RequestFence) {
		golden.File(t, filepath.Join("schemas", typ+".json"), string(Schema(typ)))
		e := sample(typ)
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
		b, err := json.MarshalIndent(e, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden.File(t, filepath.Join("testdata", typ+".json"), string(b)+"\n")
	}
}

// TestASchemaIsItsTypesOwn: a receiver that validates an event learns which fields this
// type has, and accepts fields that a later release adds.
func TestASchemaIsItsTypesOwn(t *testing.T) {
	missing := fenceIn(api.Fencing)
	missing.Status.Decision.NodeUID = "" // its Node object is gone
	ofPod := problem("m", "r", "x", 2)
	ofPod.Pod = "shop/db-0"
	again := SourceOf("c").ProblemAgain(ofPod, at, at)
	samples := []event.Event{SourceOf("c").Phase(missing, at, at), again, SourceOf("c").Failing(again, "node-7", at), SourceOf("c").Act(switchedBack, at)}
	for _, typ := range append(Types(), RequestFence) {
		samples = append(samples, sample(typ))
	}
	carried := map[string]map[string]bool{}
	for _, e := range samples {
		s := schemaOf(t, e.Type())
		var data map[string]any
		if err := e.DataAs(&data); err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Required {
			if _, ok := data[r]; !ok {
				t.Errorf("%s: sample lacks %s", e.Type(), r)
			}
		}
		if carried[e.Type()] == nil {
			carried[e.Type()] = map[string]bool{}
		}
		for k := range data {
			carried[e.Type()][k] = true
			if _, ok := s.Properties[k]; !ok {
				t.Errorf("%s: sample has %s, which the schema does not know", e.Type(), k)
			}
		}
		if !s.AdditionalProperties {
			t.Errorf("%s: the schema refuses what a later release adds", e.Type())
		}
	}
	for typ, keys := range carried {
		for k := range schemaOf(t, typ).Properties {
			// A sender's own event: if the subject names the node, and the token the user,
			// the data need not.
			if !keys[k] && typ != RequestFence {
				t.Errorf("%s: the schema has %s, which no sample carries", typ, k)
			}
		}
	}
}

type schema struct {
	Required             []string
	Properties           map[string]any
	AdditionalProperties bool
}

func schemaOf(t *testing.T, typ string) (s schema) {
	t.Helper()
	if err := json.Unmarshal(Schema(typ), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryPhaseHasOneTypeAndBack(t *testing.T) {
	var seen []string
	for _, p := range api.Phases {
		typ := OfPhase(p)
		if back, ok := PhaseOf(typ); !ok || back != p {
			t.Errorf("PhaseOf(%s) = %s, %v", typ, back, ok)
		}
		if slices.Contains(seen, typ) {
			t.Errorf("%s stands for two phases", typ)
		}
		seen = append(seen, typ)
	}
	if _, ok := PhaseOf("io.nodefence.fence.unheardof.v1"); ok {
		t.Error("a type of no phase was taken for one")
	}
}

func TestIDs(t *testing.T) {
	s, f := SourceOf("c"), fenceIn(api.Fencing)
	id := func(f *api.NodeFence, due time.Time) string { return s.Phase(f, due, at).ID() }
	other := fenceIn(api.Fencing)
	other.Status.Transitions++
	next := fenceIn(api.Fencing)
	next.Status.FenceNumber, next.Status.FenceNumber = 3, 3
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"the same state and due time is the same event":       {id(f, at), s.Phase(f, at, at.Add(time.Hour)).ID(), true},
		"another due time is another event":                   {id(f, at), id(f, at.Add(time.Second)), false},
		"the phase reached again is another event":            {id(f, at), id(other, at), false},
		"the next fence of the node has events of its own":    {id(f, at), id(next, at), false},
		"a Lease that stands still is told by its mark":       {s.Suspect("n", "u", "m", at, time.Time{}, at).ID(), s.Suspect("n", "u", "m", at.Add(1), time.Time{}, at.Add(time.Hour)).ID(), true},
		"a Lease that moved and stopped is another event":     {s.Suspect("n", "u", "m", at, time.Time{}, at).ID(), s.Suspect("n", "u", "o", at, time.Time{}, at).ID(), false},
		"a resync of a still Lease is not swallowed":          {s.Suspect("n", "u", "m", at, time.Time{}, at).ID(), s.Suspect("n", "u", "m", at, at, at).ID(), false},
		"a turn to be checked is one event":                   {s.Check("n", "u", at, at.Add(1), at).ID(), s.Check("n", "u", at, at.Add(1), at.Add(time.Hour)).ID(), true},
		"the next turn is another event":                      {s.Check("n", "u", at, at.Add(time.Second), at).ID(), s.Check("n", "u", at, at.Add(time.Minute), at).ID(), false},
		"a problem told again is the same event":              {s.Problem(problem("m", "r", "x", 2), at).ID(), s.Problem(problem("m", "r", "x", 2), at.Add(time.Hour)).ID(), true},
		"a problem seen once more is another event":           {s.Problem(problem("m", "r", "x", 2), at).ID(), s.Problem(problem("m", "r", "x", 3), at).ID(), false},
		"a problem told by a resync is not swallowed":         {s.Problem(problem("m", "r", "x", 2), at).ID(), s.ProblemAgain(problem("m", "r", "x", 2), at, at).ID(), false},
		"one resync tells a problem once":                     {s.ProblemAgain(problem("m", "r", "x", 2), at, at).ID(), s.ProblemAgain(problem("m", "r", "x", 2), at, at.Add(time.Hour)).ID(), true},
		"the next resync tells a problem anew":                {s.ProblemAgain(problem("m", "r", "x", 2), at, at).ID(), s.ProblemAgain(problem("m", "r", "x", 2), at.Add(time.Minute), at).ID(), false},
		"a FenceRequest that changed again is another event":  {s.FenceRequestChanged("n", asking, "1", at).ID(), s.FenceRequestChanged("n", asking, "2", at).ID(), false},
		"one try to ask by an object is one event":            {RequestByObject("n", "/s", asking, at, at).ID(), RequestByObject("n", "/s", asking, at.Add(1), at).ID(), true},
		"another try to ask by it is not swallowed":           {RequestByObject("n", "/s", asking, at, at).ID(), RequestByObject("n", "/s", asking, at, at.Add(1000)).ID(), false},
		"a resync of a condition is not the transition again": {s.Condition(ConditionChange{Node: "n", Since: at}, time.Time{}, at).ID(), s.Condition(ConditionChange{Node: "n", Since: at}, at, at).ID(), false},
	} {
		if (c.a == c.b) != c.same {
			t.Errorf("%s: %s, %s", name, c.a, c.b)
		}
	}
}

func TestNode(t *testing.T) {
	for name, c := range map[string]struct{ subject, err string }{
		"a node's name":          {"node-7.example.com", ""},
		"no subject":             {"", "attribute subject: missing, it must name the node"},
		"a path is not a name":   {"nodes/node-7", `attribute subject: "nodes/node-7" is not a node's name`},
		"white space is no name": {"node 7", `attribute subject: "node 7" is not a node's name`},
		"a dot is a path":        {".", `attribute subject: "." is not a node's name`},
		"two dots are a path":    {"..", `attribute subject: ".." is not a node's name`},
		"a query is no name":     {"node-7?watch=1", `attribute subject: "node-7?watch=1" is not a node's name`},
		"no name has capitals":   {"Node-7", `attribute subject: "Node-7" is not a node's name`},
		"a domain's name is one": {"node-7.example.com", ""},
	} {
		e := event.New()
		if c.subject != "" {
			e.SetSubject(c.subject)
		}
		got, err := Node(e)
		if msg := errText(err); msg != c.err || (err == nil && got != c.subject) {
			t.Errorf("%s: got %q, %q", name, got, msg)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestExpired(t *testing.T) {
	plain, dated := sample(NodeUnhealthy), sample(OfPhase(api.Fencing))
	broken := sample(NodeUnhealthy)
	broken.SetExtension(ExpiryTime, "soon")
	for name, c := range map[string]struct {
		e    event.Event
		now  time.Time
		want bool
	}{
		"no expiry never expires":             {plain, at.Add(time.Hour), false},
		"before its time":                     {dated, at.Add(DecisionValidity), false},
		"after its time":                      {dated, at.Add(DecisionValidity + time.Second), true},
		"an expiry that can't be read counts": {broken, at, true},
	} {
		if got := Expired(c.e, c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCausedByCarriesCauseAndTrace(t *testing.T) {
	cause, e := sample(NodeUnhealthy), sample(OfPhase(api.Isolating))
	cause.SetExtension(TraceParent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	CausedBy(&e, cause)
	if e.Extensions()[CausationID] != cause.ID() || e.Extensions()[TraceParent] != cause.Extensions()[TraceParent] {
		t.Errorf("got %v", e.Extensions())
	}
}

func TestProblemPassesOnABoundedLine(t *testing.T) {
	for name, c := range map[string]struct{ given, message, reason string }{
		"as it is":                      {"TaskHung", "TaskHung", "TaskHung"},
		"lines become one":              {"a\r\nb\x00c\n", "a  b c", "a  b c"},
		"a long one is cut":             {strings.Repeat("x", 300), strings.Repeat("x", 256), strings.Repeat("x", 128)},
		"characters are cut, not bytes": {strings.Repeat("ü", 300), strings.Repeat("ü", 256), strings.Repeat("ü", 128)},
		"what is no text":               {"a\xffb", "a b", "a b"},
	} {
		e := SourceOf("c").Problem(problem(c.given, c.given, c.given, 1), at)
		var p Payload
		if err := e.DataAs(&p); err != nil {
			t.Fatal(err)
		}
		want := [5]any{c.message, c.reason, c.reason, c.reason, c.reason}
		got := [5]any{p.Message, p.Reason, p.Component, e.Extensions()[ReasonAttr], e.Extensions()[ComponentAttr]}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryAttributeOfASampleIsOursAlone(t *testing.T) {
	for _, typ := range Types() {
		e := sample(typ)
		for name := range e.Extensions() {
			if !Own(name) {
				t.Errorf("%s: somebody else may set %s", typ, name)
			}
		}
	}
	if Own("site") {
		t.Error("site is not ours")
	}
}

// TestAnObjectIsReadBack as it was sent; an event that names none is refused (S18).
func TestAnObjectIsReadBack(t *testing.T) {
	e := sample(FenceRequestChanged)
	if got, err := ReadFenceRequestChanged(e); err != nil || got != asking {
		t.Error(got, err)
	}
	for _, data := range []string{`{}`, `{"namespace":"a","name":"b"}`, `[]`} {
		_ = e.SetData(event.ApplicationJSON, json.RawMessage(data))
		if got, err := ReadFenceRequestChanged(e); err == nil {
			t.Errorf("%s: %v", data, got)
		}
	}
	by := RequestByObject("node-7", "/fencerequests/a/b", asking, at, at)
	if got, err := ReadRequest(by); err != nil || got.FenceRequest == nil || *got.FenceRequest != asking {
		t.Errorf("%+v %v", got, err)
	}
	if err := by.Validate(); err != nil || Accept(by) != nil || HasToken(by) {
		t.Error(err, Accept(by))
	}
}
