package gate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
)

const requestPath = "/apis/nodefence.io/v1alpha1/namespaces/own/fencerequests/a-x"

// TestARequestByAnObject: the gate believes the object that it reads, and nothing of the event that
// names it (S18: any event may be forged; S20: who may ask was decided when the object was created).
// A refusal is written into the object, unless the object has nothing to do with it.
func TestARequestByAnObject(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	stamp := func(ago time.Duration) string { return now.Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z") }
	const head = `{"metadata":{"name":"a","uid":"f","resourceVersion":"7","finalizers":["nodefence.io/undo"]},"spec":{"nodeName":"a"},"status":{"fenceNumber":3,`
	of := func(nodeUID types.UID) func(*api.FenceRequest) {
		return func(o *api.FenceRequest) {
			o.Spec.NodeName, o.OwnerReferences = "", []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: o.Name, UID: "m"}}
			o.Status.NodeFence.Name, o.Status.NodeFence.NodeUID = "a", nodeUID
		}
	}
	const another = `"decision":{"nodeUID":"1","askedBy":[{"id":"0","source":"/me","type":"t","joinedAt":"2026-01-01T00:00:00.000000Z"}]}`
	// withdrawn is a record that notes that FenceRequest as withdrawn.
	withdrawn := func(uid, rest string) string {
		return strings.Replace(head, `"uid":"f"`, `"uid":"f","annotations":{"nodefence.io/withdrawn-request":"`+uid+`"}`, 1) + rest
	}
	// ended is an earlier fence.
	ended := func(number int, ago time.Duration, outcome, asked string) string {
		return fmt.Sprintf(`{"fenceNumber":%d,"openedAt":%[2]q,"closedAt":%[2]q,"outcome":%q,"askedBy":[{"id":%q,"source":"/me"}]}`, number, stamp(ago), outcome, asked)
	}
	for name, c := range map[string]struct {
		event  events.ObjectReference
		node   string
		object func(*api.FenceRequest)
		fence  string
		none   bool // no policy selects the node
		want   string
		since  time.Duration // ago, when the Node was created
	}{
		"as it is":  {want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"in a name": {object: func(o *api.FenceRequest) { o.Spec.RequestedBy = "ada" }, want: "opens: u of /fencerequests/own/a-x, by ada: smoke"},
		"of an owner": {object: func(o *api.FenceRequest) {
			o.OwnerReferences = []metav1.OwnerReference{{Kind: "NodeHealthCheck", Name: "nhc"}}
		}, want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x, owner NodeHealthCheck/nhc: smoke"},
		"of a Machine":                            {object: of("1"), want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x, owner Machine/a-x: smoke"},
		"that, and its Node was registered anew":  {object: of("1"), since: 59 * time.Second, want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x, owner Machine/a-x: smoke"},
		"that, and another Node has the name":     {object: of("0"), want: "refused, and told: RemediationFinishedNodeNotFound"},
		"that, beside a fence of others":          {object: of("0"), fence: head + another + `,"phase":"Pending","openedAt":"` + stamp(time.Hour) + `"}}`, want: "refused, and told: RemediationFinishedNodeNotFound"},
		"of a Machine whose Node was not noted":   {object: of(""), want: "refused, and told: RemediationFinishedNodeNotFound"},
		"created before its Node":                 {since: 59 * time.Second, want: "refused, and told: RemediationFinishedNodeNotFound"},
		"created in the same second":              {since: time.Minute, want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"beside a fence of others":                {fence: head + another + `,"phase":"Pending","openedAt":"` + stamp(time.Hour) + `"}}`, want: "joins: 0 of /me, by : , u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"after a fence of others":                 {fence: head + another + `,"phase":"Finished","phaseSince":"` + stamp(time.Hour) + `"}}`, want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"created before that ended":               {fence: head + another + `,"phase":"Finished","phaseSince":"` + stamp(time.Second) + `"}}`, want: "refused, and told: RequestMerged"},
		"created in the second of that end":       {fence: head + another + `,"phase":"Finished","phaseSince":"` + stamp(time.Minute-300*time.Millisecond) + `"}}`, want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"created in the second before it ended":   {fence: head + another + `,"phase":"Finished","phaseSince":"` + stamp(59*time.Second-300*time.Millisecond) + `"}}`, want: "refused, and told: RequestMerged"},
		"beside a fence that ends":                {fence: head + another + `,"phase":"Recovering","outcome":"Aborted"}}`, want: "refused, and told: RequestMerged"},
		"beside one that was withdrawn, and ends": {fence: withdrawn("u0", strings.Replace(another, `"0"`, `"u0"`, 1)+`,"phase":"Recovering","outcome":"Aborted"}}`)},
		"that, and it is too old": {fence: withdrawn("u0", strings.Replace(another, `"0"`, `"u0"`, 1)+`,"phase":"Recovering","outcome":"Aborted"}}`), object: func(o *api.FenceRequest) {
			o.CreationTimestamp = metav1.NewTime(now.Add(-api.RequestValidity - time.Minute))
		}, want: "refused, and told: RequestMerged"},
		"created before that one ended":          {fence: withdrawn("u0", strings.Replace(another, `"0"`, `"u0"`, 1)+`,"phase":"Finished","outcome":"Aborted","phaseSince":"`+stamp(time.Second)+`"}}`), want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"that, and another was withdrawn since":  {fence: withdrawn("u0,u9", strings.Replace(another, `"0"`, `"u0"`, 1)+`,"phase":"Finished","outcome":"Aborted","phaseSince":"`+stamp(time.Second)+`"}}`), want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"that, and two ended one after another":  {fence: withdrawn("u0,u1", another+`,"phase":"Pending","past":[`+ended(1, time.Second, "Aborted", "u1")+`,`+ended(2, time.Second, "Aborted", "u0")+`]}}`), want: "joins: 0 of /me, by : , u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"created before one ended that cut":      {fence: withdrawn("u0", strings.Replace(another, `"0"`, `"u0"`, 1)+`,"phase":"Finished","outcome":"Aborted","cutOrReleased":true,"phaseSince":"`+stamp(time.Second)+`"}}`), want: "refused, and told: RequestMerged"},
		"created before a person ended it":       {fence: withdrawn("u9", strings.Replace(another, `"0"`, `"u0"`, 1)+`,"phase":"Finished","outcome":"Aborted","phaseSince":"`+stamp(time.Second)+`"}}`), want: "refused, and told: RequestMerged"},
		"beside one that grew old, and ends":     {fence: head + another + `,"phase":"Recovering","outcome":"RequestExpired"}}`},
		"created before that one grew old":       {fence: head + another + `,"phase":"Finished","outcome":"RequestExpired","phaseSince":"` + stamp(time.Second) + `"}}`, want: "opens: u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"created before it grew old, and cut":    {fence: head + another + `,"phase":"Finished","outcome":"RequestExpired","cutOrReleased":true,"phaseSince":"` + stamp(time.Second) + `"}}`, want: "refused, and told: RequestMerged"},
		"that uncut, and another is open":        {fence: head + another + `,"phase":"Pending","past":[` + ended(2, time.Second, "RequestExpired", "x") + `]}}`, want: "joins: 0 of /me, by : , u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"that, and one before it had answered":   {fence: head + another + `,"phase":"Pending","past":[` + ended(1, time.Second, "Recovered", "y") + `,` + ended(2, time.Second, "RequestExpired", "x") + `]}}`, want: "refused, and told: RequestMerged"},
		"beside one that opened after that":      {fence: withdrawn("u0", another+`,"phase":"Pending","past":[`+ended(2, time.Hour, "Recovered", "x")+`,`+ended(2, time.Second, "Aborted", "u0")+`]}}`), want: "joins: 0 of /me, by : , u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"that, and it cut":                       {fence: withdrawn("u0", another+`,"phase":"Pending","past":[`+strings.Replace(ended(2, time.Second, "Aborted", "u0"), `"outcome"`, `"cuts":1,"outcome"`, 1)+`]}}`), want: "refused, and told: RequestMerged"},
		"that, and a person ended":               {fence: withdrawn("u0", another+`,"phase":"Pending","past":[`+ended(2, time.Second, "Aborted", "x")+`]}}`), want: "refused, and told: RequestMerged"},
		"beside one that was withdrawn too late": {fence: withdrawn("u0", strings.Replace(another, `"0"`, `"u0"`, 1)+`,"phase":"Fencing","cutOrReleased":true}}`), want: "joins: u0 of /me, by : , u of /fencerequests/own/a-x, by FenceRequest own/a-x: smoke"},
		"that, and another was answered":         {fence: withdrawn("u0", another+`,"phase":"Pending","past":[`+ended(2, time.Second, "Recovered", "x")+`,`+ended(2, time.Second, "Aborted", "u0")+`]}}`), want: "refused, and told: RequestMerged"},
		"its fence is open":                      {fence: head + strings.NewReplacer(`"0"`, `"u"`, "/me", "/fencerequests/own/a-x").Replace(another) + `,"phase":"Pending"}}`},
		"its fence is over":                      {fence: head + another + `,"phase":"Pending","past":[{"fenceNumber":2,"askedBy":[{"id":"u","source":"/fencerequests/own/a-x"}]}]}}`},
		"its fence is known":                     {object: func(o *api.FenceRequest) { o.Status.NodeFence.FenceNumber = 1 }},
		"its last word is said":                  {object: func(o *api.FenceRequest) { o.Status = ask.Refused(o, api.NoPolicy, "no", now) }},
		"deleted":                                {object: func(o *api.FenceRequest) { at := metav1.NewTime(now); o.DeletionTimestamp = &at }},
		"given up by NodeHealthCheck":            {object: func(o *api.FenceRequest) { o.Annotations = map[string]string{api.TimedOutAnnotation: ""} }},
		"not held by us":                         {object: func(o *api.FenceRequest) { o.Finalizers = nil }},
		"created long ago": {object: func(o *api.FenceRequest) {
			o.CreationTimestamp = metav1.NewTime(now.Add(-api.RequestValidity - time.Minute))
		}, want: "refused, and told: RequestTooOld"},
		"created in the future": {object: func(o *api.FenceRequest) {
			o.CreationTimestamp = metav1.NewTime(now.Add(api.RequestValidity + time.Minute))
		}, want: "refused, and told: RequestTooOld"},
		"without a policy":           {none: true, want: "refused, and told: NoPolicy"},
		"names that differ":          {object: func(o *api.FenceRequest) { o.Spec.NodeName = "b" }, want: "refused, and told: NamesDiffer"},
		"forged: of another UID":     {event: events.ObjectReference{Namespace: "own", Name: "a-x", UID: "v"}, want: "refused: RequestWithdrawn"},
		"forged: of no object":       {event: events.ObjectReference{Namespace: "own", Name: "a-y", UID: "u"}, want: "refused: RequestWithdrawn"},
		"forged: elsewhere":          {event: events.ObjectReference{Namespace: "default", Name: "a-x", UID: "u"}, want: "refused: SourceNotBelieved"},
		"forged: no name":            {event: events.ObjectReference{Namespace: "own", Name: "../nodes", UID: "u"}, want: "refused: SourceNotBelieved"},
		"forged: about another node": {node: "b", want: "refused: SourceNotBelieved"},
		"about a node that is gone": {node: "c", object: func(o *api.FenceRequest) {
			o.Name, o.Spec.NodeName = "a-x", ""
			o.Annotations = map[string]string{api.NodeNameAnnotation: "a-x"}
		}, want: "refused: SourceNotBelieved"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{
				Namespace: "own", Name: "a-x", UID: "u", ResourceVersion: "5", Finalizers: []string{api.RequestFinalizer}, CreationTimestamp: metav1.NewTime(now.Add(-time.Minute)),
			}, Spec: api.FenceRequestSpec{NodeName: "a", Reason: "smoke"}}
			if c.object != nil {
				c.object(o)
			}
			raw, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			answers := cluster(now)
			if c.since != 0 {
				answers["/api/v1/nodes/a"] = strings.Replace(answers["/api/v1/nodes/a"], `"uid":"1"`, `"uid":"1","creationTimestamp":"`+now.Add(-c.since).UTC().Format(time.RFC3339)+`"`, 1)
			}
			answers["/api/v1/nodes/b"] = strings.ReplaceAll(answers["/api/v1/nodes/a"], `"a"`, `"b"`)
			answers[requestPath], answers[fencePath] = string(raw), c.fence
			if c.fence == "" {
				delete(answers, fencePath)
			}
			if c.none {
				answers[policyPath] = `{"items":[]}`
			}
			if c.event.Name == "" {
				c.event = events.ObjectReference{Namespace: "own", Name: "a-x", UID: "u"}
			}
			if c.node == "" {
				c.node = "a"
			}
			if d := cmp.Diff(c.want, byObject(t, answers, c.node, c.event, now)); d != "" {
				t.Error(d)
			}
		})
	}
}

// byObject is what the gate does about an event that names a FenceRequest. The event's own ID,
// source and time are wrong.
func byObject(t *testing.T, answers map[string]string, node string, named events.ObjectReference, now time.Time) string {
	t.Helper()
	g, written := server(t, answers)
	g.RequestNamespaces = ask.Namespaces{"own"}
	heard := &refusals{}
	g.Reporter = heard
	e := events.RequestByObject(node, "/forged", named, now.Add(time.Hour), now)
	o, err := g.opener().Open(t.Context(), node, e)
	if err != nil {
		t.Fatal(err)
	}
	if o.Fence != nil {
		return "opens: " + askers(o.Fence.Status)
	}
	for _, w := range *written {
		what, body, _ := strings.Cut(w, " {")
		switch what {
		case "PUT " + fencePath + "/status":
			var f api.NodeFence
			if err := json.Unmarshal([]byte("{"+body), &f); err != nil || f.ResourceVersion != "7" {
				t.Fatal(w, err)
			}
			return "joins: " + askers(f.Status)
		case "PATCH " + requestPath + "/status":
			var o api.FenceRequest
			if err := json.Unmarshal([]byte("{"+body), &o); err != nil || o.ResourceVersion != "5" || len(heard.said) != 1 || len(heard.told) != 1 {
				t.Fatal(w, err, heard.said)
			}
			c := meta.FindStatusCondition(o.Status.Conditions, api.ConditionProcessing)
			said := strings.Replace(heard.said[0], string(api.NoSuchNode), string(api.RemediationFinishedNodeNotFound), 1)
			words, _, _ := strings.Cut(c.Message, "; while this FenceRequest exists") // of a Machine of Cluster API
			if c.Status != metav1.ConditionFalse || !strings.Contains(said, c.Reason+": "+words) {
				t.Errorf("written is %+v, said %s", c, heard.said)
			}
			return "refused, and told: " + c.Reason
		default:
			t.Errorf("written: %s", w)
		}
	}
	if len(heard.said) == 1 {
		_, why, _ := strings.Cut(heard.said[0], ": ")
		why, _, _ = strings.Cut(why, ":")
		return "refused: " + why
	}
	return ""
}

func askers(st api.NodeFenceStatus) string {
	var all []string
	for _, a := range st.Decision.AskedBy {
		all = append(all, fmt.Sprintf("%s of %s, by %s: %s", a.ID, a.Source, a.User, a.Reason))
	}
	return strings.Join(all, ", ")
}
