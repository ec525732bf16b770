package gate

import (
	"encoding/json"
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
)

// TestARequestJoinsAnOpenFence: what is written of the record, after all that a first
// request passes; and what has not passed that leaves it as it is (S7, S18, S20).
func TestARequestJoinsAnOpenFence(t *testing.T) {
	now := time.Now()
	at := func(ago time.Duration) string { return now.Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z") }
	const waits = `"trigger":{"type":"NodeCondition","nodeCondition":{"type":"Ready","status":"Unknown","duration":"0s"}}`
	const reported = `"trigger":{"type":"Problem"}`
	const asked = `"trigger":{"type":"Request"},"askedBy":[{"id":"0","source":"/racks/west","type":"io.nodefence.request.fence.v1","joinedAt":"2026-01-01T00:00:00.000000Z"}]`
	record := func(trigger, status string) string {
		return `{"metadata":{"name":"a","uid":"f","resourceVersion":"7","finalizers":["nodefence.io/fence"]},"spec":{"nodeName":"a"},` +
			`"status":{"fenceNumber":3,"decision":{"nodeUID":"1",` + trigger + `},"openedAt":"` + at(time.Hour) + `","phaseSince":"` + at(time.Minute) + `",` + status + `}}`
	}
	hung := corev1.EventList{Items: []corev1.Event{{
		ObjectMeta:     metav1.ObjectMeta{Name: "e", CreationTimestamp: metav1.NewTime(now.Add(-5 * time.Minute))},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a", UID: "1"}, Reason: "TaskHung", Count: 1, Source: corev1.EventSource{Component: "kernel-monitor"},
	}}}
	// drained is who asked for a fence whose drain was given up.
	drainedOf := func(problem string, ago time.Duration) string {
		return `,"askedBy":[{"id":"0","source":"s","type":"` + events.NodeProblem + `","user":"node problem ` + problem + `","joinedAt":"` + at(ago) + `"}]`
	}
	drained := func(ago time.Duration) string { return drainedOf("TaskHung", ago) }
	gaveUp := `"drain":{"beganAt":"` + at(10*time.Minute) + `","endedAt":"` + at(5*time.Minute) + `","ended":"GivenUp"}`
	reports, err := json.Marshal(hung)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(source string, ago time.Duration) event.Event {
		e := event.New()
		e.SetType(events.RequestFence)
		e.SetSource(source)
		e.SetID("1")
		e.SetSubject("a")
		e.SetTime(now.Add(-ago))
		if err := e.SetData(event.ApplicationJSON, events.Request{Reason: "smoke"}); err != nil {
			t.Fatal(err)
		}
		return e
	}
	problem := events.SourceOf("c").Problem(events.ProblemReport{Node: "a", NodeUID: "1", Report: "r", Component: "kernel-monitor", Reason: "TaskHung", Count: 1}, now)
	west := ask("/racks/west", time.Second)
	for name, c := range map[string]struct {
		fence string
		event event.Event
		want  string // the trigger that is written
	}{
		"beside the condition of one that waits":                     {record(waits, `"phase":"Pending"`), west, "Ready=Unknown, 1 of /racks/west (rule west of NodeProblemPolicy q: smoke)"},
		"of one that was opened just now":                            {record(waits, `"reason":"Opened"`), west, "Ready=Unknown, 1 of /racks/west (rule west of NodeProblemPolicy q: smoke)"},
		"after the request that opened it":                           {record(asked, `"phase":"Pending"`), west, "0 of /racks/west (), then 1 of /racks/west (rule west of NodeProblemPolicy q: smoke)"},
		"after the power was cut":                                    {record(waits, `"phase":"Fencing","power":{"switchedByUs":true}`), west, "Ready=Unknown, then 1 of /racks/west (rule west of NodeProblemPolicy q: smoke)"},
		"when the node is booting":                                   {record(waits, `"phase":"Recovering","cutOrReleased":true`), west, "Ready=Unknown, then 1 of /racks/west (rule west of NodeProblemPolicy q: smoke)"},
		"when it is being undone":                                    {record(waits, `"phase":"Recovering"`), west, ""},
		"when it goes back to the gate":                              {record(waits, `"phase":"Recovering","outcome":"SentBack"`), west, "Ready=Unknown, 1 of /racks/west (rule west of NodeProblemPolicy q: smoke)"},
		"a second time":                                              {record(strings.Replace(asked, `"0"`, `"1"`, 1), `"phase":"Pending"`), west, ""},
		"from a source that nobody trusts":                           {record(waits, `"phase":"Pending"`), ask("/racks/east", time.Second), ""},
		"made an hour ago":                                           {record(waits, `"phase":"Pending"`), ask("/racks/west", time.Hour), ""},
		"made before the last fence ended":                           {record(waits, `"phase":"Pending","past":[{"fenceNumber":2,"closedAt":"`+at(time.Minute)+`"}]`), ask("/racks/west", 2*time.Minute), ""},
		"made since the last fence ended":                            {record(waits, `"phase":"Pending","past":[{"fenceNumber":2,"closedAt":"`+at(time.Hour)+`"}]`), ask("/racks/west", 2*time.Minute), "Ready=Unknown, 1 of /racks/west (rule west of NodeProblemPolicy q: smoke)"},
		"a problem, where a condition opened it":                     {record(waits, `"phase":"Pending"`), problem, ""},
		"a problem, where another request opened it":                 {record(asked, `"phase":"Pending"`), problem, ""},
		"a problem, where other reports opened it":                   {record(reported+drainedOf("OOMKilling", time.Second), `"phase":"Pending"`), problem, "r/1 of source (), then r/1 of source (TaskHung, reported 1 times by kernel-monitor; rule hung of NodeProblemPolicy q takes 1 within 10m0s)"},
		"a request, where reports opened it":                         {record(reported+drained(time.Second), `"phase":"Pending"`), west, "0 of s (), then 1 of /racks/west (rule west of NodeProblemPolicy q: smoke)"},
		"that problem over again":                                    {record(waits+`,"askedBy":[{"id":"0","source":"s","type":"io.nodefence.node.problem.v1","user":"node problem TaskHung","joinedAt":"`+at(time.Minute)+`"}]`, `"phase":"Pending"`), problem, ""},
		"that problem over again, where its drain was given up":      {record(reported+drained(12*time.Minute), `"phase":"Pending",`+gaveUp), problem, "r/1 of source ()"},
		"that problem, where its drain was given up, at once":        {record(reported+drained(time.Second), `"phase":"Pending",`+gaveUp), problem, ""},
		"that problem over again, of a drain that was given up, cut": {record(reported+drained(12*time.Minute), `"phase":"Fencing","power":{"switchedByUs":true},"cutOrReleased":true,`+gaveUp), problem, ""},
		"a problem from before the last fence ended":                 {record(waits, `"phase":"Pending","past":[{"fenceNumber":2,"closedAt":"`+at(time.Minute)+`"}]`), problem, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			answers[fencePath], answers["/api/v1/namespaces/default/events"] = c.fence, string(reports)
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","unhealthyConditions":[{"type":"Ready","status":"Unknown"}]}}]}`
			answers[problemsPath] = rulesOf(`{"name":"west","cloudEvent":{"source":"/racks/west","brokerIsClosed":true},"action":"Fence"}`, `{"name":"hung","kubernetesEvent":{"reason":"TaskHung","component":"kernel-monitor"},"action":"Ask"}`)
			g, written := server(t, answers)
			if _, err := g.opener().Open(t.Context(), "a", c.event); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, w := range *written {
				what, body, _ := strings.Cut(strings.TrimPrefix(w, "PUT "), " ")
				var f api.NodeFence
				if err := json.Unmarshal([]byte(body), &f); err != nil || what != fencePath+"/status" {
					t.Fatal(w, err)
				}
				if len(f.Finalizers) != 1 || f.ResourceVersion != "7" || f.Status.FenceNumber != 3 {
					t.Errorf("the record became %+v", f)
				}
				got += triggerOf(f.Status.Decision, c.event)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// triggerOf is why a fence goes on, in words; a request says when it came, and one that
// changes nothing comes after "then".
func triggerOf(dec api.Decision, e event.Event) string {
	words := func(r api.AskedBy) string {
		if r.JoinedAt.IsZero() {
			return "without its time"
		}
		id, source := r.ID, r.Source
		if e.Type() == events.NodeProblem {
			id, source = "r/1", "source"
		}
		return fmt.Sprintf("%s of %s (%s)", id, source, r.Reason)
	}
	var all []string
	if c := dec.Trigger.NodeCondition; c != nil {
		all = append(all, c.Type+"="+c.Status)
	}
	for i := range dec.AskedBy {
		if r := &dec.AskedBy[i]; r == dec.Asker() {
			all = append(all, words(*r))
		} else {
			all = append(all, "then "+words(*r))
		}
	}
	return strings.Join(all, ", ")
}
