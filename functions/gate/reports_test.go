package gate

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/loop"
)

const (
	podsPath   = "/api/v1/pods"
	eventsPath = "/api/v1/events"
	fencesPath = "/apis/nodefence.io/v1alpha1/nodefences"
)

// TestReportsOfPods: what counts is what is reported of the Pods that are bound to
// the node, whoever the event says it is about (S18).
func TestReportsOfPods(t *testing.T) {
	now := time.Now()
	told := func(pod string, count int32, change ...func(*corev1.Event)) corev1.Event {
		ev := corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: pod, Namespace: "shop", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: pod, UID: types.UID(pod)},
			Type:           corev1.EventTypeWarning, Reason: "FailedMount", Count: count, Source: corev1.EventSource{Component: "kubelet", Host: "a"},
		}
		for _, c := range change {
			c(&ev)
		}
		return ev
	}
	says := func(message string) func(*corev1.Event) {
		return func(ev *corev1.Event) { ev.Message = message }
	}
	ago := func(d time.Duration) func(*corev1.Event) {
		return func(ev *corev1.Event) { ev.CreationTimestamp = metav1.NewTime(now.Add(-d)) }
	}
	enough := []corev1.Event{told("web-0", 3), told("web-1", 2)}
	other := func(phase, more string) string {
		return `{"items":[{"metadata":{"name":"b"},"spec":{"nodeName":"b"},"status":{"fenceNumber":1,"phase":"` + phase + `"` + more + `}}]}`
	}
	waits := func(node, more string) string {
		return `{"items":[{"metadata":{"name":"` + node + `"},"spec":{"nodeName":"` + node + `"},"status":{"fenceNumber":1,"phase":"Pending"` + more + `}}]}`
	}
	at := func(d time.Duration) string { return now.Add(-d).UTC().Format("2006-01-02T15:04:05.000000Z") }
	fence := []string{"POST 1 Problem"}
	for name, c := range map[string]struct {
		events  []corev1.Event
		problem string
		fences  string
		want    []string
	}{
		"often enough, of two Pods":                      {enough, "", "", fence},
		"of one Pod":                                     {[]corev1.Event{told("web-0", 9)}, "", "", nil},
		"of two Pods, not often enough":                  {[]corev1.Event{told("web-0", 2), told("web-1", 2)}, "", "", nil},
		"of a Pod that is bound elsewhere, by this host": {[]corev1.Event{told("web-0", 5), told("moved", 5)}, "", "", nil},
		"of two Pods, one by another node's kubelet":     {[]corev1.Event{told("web-0", 5), told("web-1", 5, func(ev *corev1.Event) { ev.Source.Host = "b" })}, "", "", nil},
		"another reason":                                 {[]corev1.Event{told("web-0", 5), told("web-1", 5, func(ev *corev1.Event) { ev.Reason = "BackOff" })}, "", "", nil},
		"another component":                              {enough, `"component":"attachdetach-controller",`, "", nil},
		"this component":                                 {enough, `"component":"kubelet",`, "", fence},
		"another namespace":                              {enough, `"namespaceNames":["bank"],`, "", nil},
		"this namespace":                                 {enough, `"namespaceNames":["bank","shop"],`, "", fence},
		"what is normal":                                 {[]corev1.Event{told("web-0", 5), told("web-1", 5, func(ev *corev1.Event) { ev.Type = "Normal" })}, "", "", nil},
		"a volume that another node holds":               {[]corev1.Event{told("web-0", 5), told("web-1", 5, says("Multi-Attach error for volume \"x\""))}, "", "", nil},
		"too long ago":                                   {[]corev1.Event{told("web-0", 5), told("web-1", 5, ago(11*time.Minute))}, "", "", nil},
		"while another node's work is not released":      {enough, "", other("Fencing", ""), nil},
		"while another node's fence waits and Kubernetes moves its work": {enough, "", waits("lost", ""), nil},
		"while another node's fence waits, of a node that is gone":       {enough, "", waits("gone", ""), nil},
		"while a fence of a node that runs on waits":                     {enough, "", waits("well", ""), fence},
		"while a fence of a node that is back since just now waits":      {enough, "", waits("back", ""), nil},
		"while a fence of a node that runs on waits anew, after a cut":   {enough, "", waits("well", `,"power":{"switchedByUs":true}`), nil},
		"while another node's fence begins":                              {enough, "", `{"items":[{"metadata":{"name":"b"},"spec":{"nodeName":"b"},"status":{"fenceNumber":2}}]}`, nil},
		"when it was released just now":                                  {enough, "", other("Fenced", `,"release":{"doneAt":"`+at(time.Second)+`"}`), nil},
		"when it was released before":                                    {enough, "", other("Fenced", `,"release":{"doneAt":"`+at(time.Hour)+`"}`), fence},
		"when another node's fence is long over":                         {enough, "", other("Finished", `,"phaseSince":"`+at(time.Hour)+`"`), fence},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := json.Marshal(corev1.EventList{Items: toldEach(c.events)})
			if err != nil {
				t.Fatal(err)
			}
			answers := cluster(now)
			answers[fencesPath] = c.fences
			if c.fences == "" {
				answers[fencesPath] = `{"items":[]}`
			}
			answers[eventsPath] = string(list)
			for node, ready := range map[string]string{"lost": `"Unknown"`, "well": `"True","lastTransitionTime":"2026-01-01T00:00:00Z"`, "back": `"True","lastTransitionTime":"` + now.UTC().Format(time.RFC3339) + `"`} {
				answers["/api/v1/nodes/"+node] = `{"metadata":{"name":"` + node + `","uid":"2"},"status":{"conditions":[{"type":"Ready","status":` + ready + `}]}}`
			}
			answers[podsPath] = `{"items":[{"metadata":{"name":"web-0","namespace":"shop","uid":"web-0"}},{"metadata":{"name":"web-1","namespace":"shop","uid":"web-1"}}]}`
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}]}`
			answers[problemsPath] = rulesOf(fmt.Sprintf(`{"kubernetesEvent":{"about":"Pod",%s"reason":"FailedMount"},"threshold":{"count":5,"pods":2},"action":"Ask"}`, c.problem))
			client, written := apiOf(t, answers)
			g := &Gate{Client: client, Log: slog.New(slog.DiscardHandler), Loop: &loop.Loop{Now: client.Clock().Now}}
			e := events.SourceOf("c").Problem(events.ProblemReport{
				Node: "a", NodeUID: "1", Pod: "shop/web-0", Report: "r", Component: "kubelet", Reason: "FailedMount", Count: 3,
			}, now)
			o, err := g.opener().Open(t.Context(), "a", e)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, wrote(written(), o)); d != "" {
				t.Error(d)
			}
		})
	}
}

// toldEach writes an Event of its own, with its own words, for each time that one of these says it happened:
// the count in an Event counts for nothing.
func toldEach(all []corev1.Event) (each []corev1.Event) {
	for _, ev := range all {
		for i := range ev.Count {
			one := ev
			one.Name, one.UID = fmt.Sprint(ev.Name, ".", i), types.UID(fmt.Sprint(ev.Name, ".", i))
			one.Message, one.Count = fmt.Sprint(ev.Message, " (", i, ")"), 1
			each = append(each, one)
		}
	}
	return each
}
