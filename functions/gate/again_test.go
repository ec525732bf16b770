package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/report"
)

// TestAReportThatAResyncTellsAgain opens the fence that was lost, once, and does
// nothing else that the report itself has done already (S18, S19).
func TestAReportThatAResyncTellsAgain(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) string { return now.Add(-d).UTC().Format("2006-01-02T15:04:05.000000Z") }
	record := func(status string) string {
		return `{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"nodeName":"a"},"status":{"fenceNumber":1,"decision":{"nodeUID":"1"},` + status + `}}`
	}
	for name, c := range map[string]struct {
		action api.ProblemAction
		fence  string
		want   string
	}{
		"of a node that never had a fence":          {api.ProblemAsk, "", "1 fences, 0 told, 0 handed on"},
		"while one is open for another reason":      {api.ProblemAsk, record(`"phase":"Pending","phaseSince":"` + ago(time.Hour) + `"`), "0 fences, 0 told, 0 handed on"}, // nobody has approved that reports speak for it
		"of a stored rule that says Fence":          {api.ProblemFence, "", "1 fences, 0 told, 0 handed on"},
		"after one that healed by itself meanwhile": {api.ProblemAsk, record(`"phase":"Finished","outcome":"` + string(api.HealedBeforeFence) + `","phaseSince":"` + ago(time.Second) + `"`), "1 fences, 0 told, 0 handed on"},
		"after one that cut its power meanwhile":    {api.ProblemAsk, record(`"phase":"Finished","outcome":"Recovered","power":{"cuts":1},"phaseSince":"` + ago(time.Second) + `"`), "0 fences, 0 told, 0 handed on"},
		"after one that a person ended meanwhile":   {api.ProblemAsk, record(`"phase":"Finished","outcome":"` + string(api.Aborted) + `","phaseSince":"` + ago(time.Second) + `"`), "0 fences, 0 told, 0 handed on"},
		"what the rule only tells":                  {api.ProblemAlert, "", "0 fences, 0 told, 0 handed on"},
		"what the rule moves Pods for":              {api.ProblemEvict, "", "0 fences, 0 told, 0 handed on"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := json.Marshal(corev1.EventList{Items: toldEach([]corev1.Event{{
				ObjectMeta:     metav1.ObjectMeta{Name: "e", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))},
				InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a", UID: "1"},
				Type:           corev1.EventTypeWarning, Reason: "TaskHung", Count: 3, Source: corev1.EventSource{Component: "kernel-monitor"},
			}})})
			if err != nil {
				t.Fatal(err)
			}
			answers := cluster(now)
			answers["/api/v1/namespaces/default/events"] = string(list)
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}]}`
			answers[problemsPath] = rulesOf(`{"kubernetesEvent":{"reason":"TaskHung"},"threshold":{"count":3},"action":"` + string(c.action) + `"}`)
			if c.fence != "" {
				answers[fencesPath+"/a"] = c.fence
			}
			g, written := server(t, answers)
			told := &counting{}
			g.Reporter = told
			e := events.SourceOf("c").ProblemAgain(events.ProblemReport{
				Node: "a", NodeUID: "1", Report: "r", Component: "kernel-monitor", Reason: "TaskHung", Count: 3,
			}, now, now)
			o, err := g.opener().Open(t.Context(), "a", e)
			if err != nil {
				t.Fatal(err)
			}
			opened, handed := 0, 0
			for _, x := range *written {
				if strings.Contains(x, "nodefences") {
					opened++
				}
			}
			if o.Reply != nil {
				handed++
			}
			if got := fmt.Sprintf("%d fences, %d told, %d handed on", opened, told.alerts, handed); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// counting counts what is told.
type counting struct {
	deaf
	alerts int
}

func (c *counting) Alerted(context.Context, report.Refusal, string) { c.alerts++ }
