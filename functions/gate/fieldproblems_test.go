package gate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/cleanup"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The rows of a NodeProblemPolicy's fields, and what they ask.

const (
	ofNode   = `{"selector":{},"rules":[{"name":"r","kubernetesEvent":{"reason":"Hung"},"threshold":{"count":3},"action":"Ask"}]}`
	ofPods   = `{"selector":{},"rules":[{"name":"r","kubernetesEvent":{"about":"Pod","reason":"Hung"},"threshold":{"count":3},"action":"Ask"}]}`
	evicting = `{"selector":{},"rules":[{"name":"r","kubernetesEvent":{"about":"Pod","reason":"Hung"},"threshold":{"count":3},"action":"Evict","evict":{"what":"Volume","deleteAfter":"4m"}}]}`
	ofEvents = `{"selector":{},"rules":[{"name":"r","cloudEvent":{"source":"/me","brokerIsClosed":true},"threshold":{"count":2},"action":"Fence"}]}`
)

var problemRows = map[string]row{
	"selector":                             {with: ofNode, from: `{}`, to: `{"matchLabels":{"pool":"db"}}`, ask: problems("")},
	"rules.name":                           {with: ofNode, from: `"hung"`, to: `"slow"`, ask: words},
	"rules.kubernetesEvent.about":          {with: ofNode, from: `"Node"`, to: `"Pod"`, ask: problems("")},
	"rules.kubernetesEvent.reason":         {with: ofNode, from: `"Hung"`, to: `"Slow"`, ask: problems("")},
	"rules.kubernetesEvent.component":      {with: ofNode, from: `"kernel-monitor"`, to: `"disk-watcher"`, ask: problems("")},
	"rules.kubernetesEvent.namespaceNames": {with: ofPods, from: `["shop"]`, to: `["bank"]`, ask: problems("shop/web-0")},
	"rules.cloudEvent.source":              {with: ofEvents, from: `"/me"`, to: `"/you"`, ask: asked()},
	"rules.cloudEvent.type":                {with: ofEvents, from: `"io.nodefence.request.fence.v1"`, to: `"org.example.broken"`, ask: asked()},
	"rules.cloudEvent.brokerIsClosed":      {with: ofEvents, from: `true`, to: `false`, ask: asked()},
	"rules.threshold.count":                {with: ofEvents, from: `2`, to: `4`, ask: asked()},
	"rules.threshold.pods":                 {with: ofPods, from: `2`, to: `3`, ask: problems("shop/web-0")},
	"rules.threshold.within":               {with: ofNode, from: `"10m"`, to: `"1m"`, ask: problems("")},
	"rules.action":                         {with: ofNode, from: `"Fence"`, to: `"Alert"`, ask: problems("")},
	"rules.evict.what":                     {with: evicting, from: `"Pod"`, to: `"Volume"`, ask: moves()},
	"rules.evict.maxPods":                  {with: evicting, from: `3`, to: `1`, ask: moves()},
	"rules.evict.deleteAfter":              {with: evicting, from: `"6m"`, to: `"4m"`, ask: moves()},
}

// rulesOf is a NodeProblemPolicy of these rules for every node.
func rulesOf(rules ...string) string {
	return `{"items":[{"metadata":{"name":"q"},"spec":{"selector":{},"rules":[` + strings.Join(rules, ",") + `]}}]}`
}

// TestANodeThatNoFencePolicySelectsIsOnlyToldOf: detection asks, and decides nothing.
// What more than one rule is about is asked for once, and told besides.
func TestANodeThatNoFencePolicySelectsIsOnlyToldOf(t *testing.T) {
	const hung, mine = `{"name":"%s","kubernetesEvent":{"reason":"Hung"},"threshold":{"count":%d},"action":"%s"}`, `{"name":"%s","cloudEvent":{"source":"/me","brokerIsClosed":true},"threshold":{"count":%d},"action":"%s"}`
	rule := func(of, name string, count int, action api.ProblemAction) string {
		return fmt.Sprintf(of, name, count, action)
	}
	for name, c := range map[string]struct {
		selected bool
		event    func(time.Time) event.Event
		rules    []string
		want     string
	}{
		"selected":                                             {true, hungNode, []string{rule(hung, "a", 3, "Fence")}, "1 fences, 0 told, 0 handed on"},
		"not selected":                                         {false, hungNode, []string{rule(hung, "a", 3, "Fence")}, "0 fences, 1 told, 0 handed on"},
		"not selected, not often enough":                       {false, hungNode, []string{rule(hung, "a", 4, "Fence")}, "0 fences, 0 told, 0 handed on"},
		"not selected, told again by a resync":                 {false, hungAgain, []string{rule(hung, "a", 3, "Fence")}, "0 fences, 0 told, 0 handed on"},
		"two rules ask":                                        {true, hungNode, []string{rule(hung, "a", 3, "Fence"), rule(hung, "b", 1, "Fence")}, "1 fences, 0 told, 0 handed on"},
		"one of two has enough":                                {true, hungNode, []string{rule(hung, "a", 4, "Fence"), rule(hung, "b", 1, "Fence")}, "1 fences, 0 told, 0 handed on"},
		"one asks, and one tells":                              {true, hungNode, []string{rule(hung, "a", 1, "Alert"), rule(hung, "b", 3, "Fence")}, "1 fences, 1 told, 0 handed on"},
		"one tells until another asks":                         {true, hungNode, []string{rule(hung, "a", 1, "Alert"), rule(hung, "b", 4, "Fence")}, "0 fences, 1 told, 0 handed on"},
		"an event that asks":                                   {true, mineNow, []string{rule(mine, "a", 1, "Fence")}, "1 fences, 0 told, 0 handed on"},
		"an event that asks, not selected":                     {false, mineNow, []string{rule(mine, "a", 1, "Fence")}, "0 fences, 0 told, 0 handed on"}, // refused: NoPolicy
		"an event that is told":                                {true, mineNow, []string{rule(mine, "a", 1, "Alert")}, "0 fences, 1 told, 0 handed on"},
		"an event that is told, not selected":                  {false, mineNow, []string{rule(mine, "a", 1, "Alert")}, "0 fences, 1 told, 0 handed on"},
		"an event, told once it is often enough":               {true, mineNow, []string{rule(mine, "a", 3, "Alert")}, "0 fences, 0 told, 0 handed on"},
		"an event that one rule tells of and another asks for": {true, mineNow, []string{rule(mine, "a", 1, "Alert"), rule(mine, "b", 1, "Fence")}, "1 fences, 1 told, 0 handed on"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			list, err := json.Marshal(corev1.EventList{Items: reported("")(now)})
			if err != nil {
				t.Fatal(err)
			}
			answers := cluster(now)
			answers["/api/v1/namespaces/default/events"] = string(list)
			answers[policyPath] = `{"items":[]}`
			if c.selected {
				answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}]}`
			}
			answers[problemsPath] = rulesOf(c.rules...)
			g, written := server(t, answers)
			heard := &counting{}
			g.Reporter = heard
			o, err := g.opener().Open(t.Context(), "a", c.event(now))
			if err != nil {
				t.Fatal(err)
			}
			handed := 0
			if o.Reply != nil {
				handed++
			}
			if got := fmt.Sprintf("%d fences, %d told, %d handed on", howMany(*written), heard.alerts, handed); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func howMany(written []string) (n int) {
	for _, x := range written {
		if strings.Contains(x, "nodefences") {
			n++
		}
	}
	return n
}

// opens asks what an event about node a opens under a policy of this kind, with these
// Events and Pods about.
func opens(path string, about func(now time.Time) event.Event, said func(now time.Time) []corev1.Event, change ...func(map[string]string)) question {
	return func(t *testing.T, spec []byte) string {
		now := time.Now()
		list, err := json.Marshal(corev1.EventList{Items: said(now)})
		if err != nil {
			t.Fatal(err)
		}
		answers := cluster(now)
		for _, c := range change {
			c(answers)
		}
		answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}]}`
		answers[path] = `{"items":[{"metadata":{"name":"p"},"spec":` + string(spec) + `}]}`
		answers["/apis/nodefence.io/v1alpha1/nodefences"] = `{"items":[]}`
		answers["/api/v1/namespaces/own/configmaps"] = `{"items":[]}`
		answers["/api/v1/namespaces/default/events"], answers["/api/v1/events"] = string(list), string(list)
		answers["/api/v1/pods"] = `{"items":[{"metadata":{"name":"web-0","namespace":"shop","uid":"web-0"}},{"metadata":{"name":"web-1","namespace":"shop","uid":"web-1"}}]}`
		g, written := server(t, answers)
		if _, err := g.opener().Open(t.Context(), "a", about(now)); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d fences opened", howMany(*written))
	}
}

// problems asks what a problem of a node, or of the Pods on it, opens: it was
// reported thrice, of two Pods by the kubelet, five minutes ago.
func problems(pod string) question {
	return opens(problemsPath, func(now time.Time) event.Event { return events.SourceOf("c").Problem(hung(pod), now) }, reported(pod))
}

// hung is a report about node a, or a Pod on it.
func hung(pod string) events.ProblemReport {
	return events.ProblemReport{Node: "a", NodeUID: "1", Pod: pod, Report: "r", Component: by(pod), Reason: "Hung", Count: 3}
}

// by is who reports: of a Pod the kubelet, of a node a monitor.
func by(pod string) string {
	if pod != "" {
		return "kubelet"
	}
	return "kernel-monitor"
}

func hungNode(now time.Time) event.Event { return events.SourceOf("c").Problem(hung(""), now) }
func hungAgain(now time.Time) event.Event {
	return events.SourceOf("c").ProblemAgain(hung(""), now, now)
}

// reported is what stands there: three reports, of two Pods if they are of Pods, five minutes ago.
func reported(pod string) func(time.Time) []corev1.Event {
	return func(now time.Time) (all []corev1.Event) {
		for i := range 3 {
			ev := corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprint(i), CreationTimestamp: metav1.NewTime(now.Add(-5 * time.Minute))},
				InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a", UID: "1"},
				Type:           corev1.EventTypeWarning, Reason: "Hung", Message: fmt.Sprint(i), Count: 1, Source: corev1.EventSource{Component: by(pod)},
			}
			if pod != "" {
				name := fmt.Sprintf("web-%d", i%2)
				ev.Namespace = "shop" // as its Pod's
				ev.InvolvedObject = corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: name, UID: types.UID(name)}
			}
			all = append(all, ev)
		}
		return all
	}
}

// words asks what the record says that the fence is asked for.
func words(t *testing.T, spec []byte) string {
	now := time.Now()
	list, err := json.Marshal(corev1.EventList{Items: reported("")(now)})
	if err != nil {
		t.Fatal(err)
	}
	answers := cluster(now)
	answers["/api/v1/namespaces/default/events"] = string(list)
	answers[problemsPath] = `{"items":[{"metadata":{"name":"p"},"spec":` + string(spec) + `}]}`
	g, written := server(t, answers)
	o, err := g.opener().Open(t.Context(), "a", hungNode(now))
	if err != nil || o.Fence == nil {
		t.Fatal(*written, err)
	}
	return o.Fence.Status.Decision.AskedBy[0].Reason
}

// seriesOf names the series of reports that an event belongs to.
func seriesOf(e event.Event) string {
	return fmt.Sprintf("report-%x", sha256.Sum256([]byte(e.Source()+"\x00"+e.Type())))[:len("report-")+16]
}

// mineNow is a request of /me, which has no token.
func mineNow(now time.Time) event.Event {
	e := event.New()
	e.SetID("7")
	e.SetSource("/me")
	e.SetType(events.RequestFence)
	e.SetSubject("a")
	e.SetTime(now)
	return e
}

// held is the answer to a write that a disruption budget does not allow.
const held = "held"

// moves asks which Pods of a node are moved for a problem that was reported of one
// of them, five minutes ago, which a budget holds.
func moves() question {
	return func(t *testing.T, spec []byte) string {
		now := time.Now()
		list, err := json.Marshal(corev1.EventList{Items: toldEach([]corev1.Event{{
			ObjectMeta:     metav1.ObjectMeta{Name: "e", Namespace: "shop", CreationTimestamp: metav1.NewTime(now.Add(-5 * time.Minute))},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web-0", UID: "web-0"},
			Type:           corev1.EventTypeWarning, Reason: "Hung", Count: 3, Source: corev1.EventSource{Component: "kubelet"},
		}})})
		if err != nil {
			t.Fatal(err)
		}
		answers := cluster(now)
		answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}]}`
		answers[policyPath+"/p"] = `{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}`
		answers[problemsPath] = `{"items":[{"metadata":{"name":"q"},"spec":` + string(spec) + `}]}`
		answers["/apis/nodefence.io/v1alpha1/nodefences"] = `{"items":[]}`
		answers["/api/v1/namespaces/default/events"], answers["/api/v1/events"] = `{"items":[]}`, string(list)
		const volume = `"spec":{"nodeName":"a","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}`
		answers["/api/v1/pods"] = `{"items":[{"metadata":{"name":"web-0","namespace":"shop","uid":"web-0"},` + volume + `},{"metadata":{"name":"web-1","namespace":"shop","uid":"web-1"},` + volume + `}]}`
		answers["POST /api/v1/namespaces/shop/pods/web-0/eviction"] = held
		g, written := server(t, answers)
		c := &cleanup.Cleaner{Client: g.Client, Log: g.Log, Reporter: g.Reporter}
		report := events.SourceOf("c").Problem(events.ProblemReport{Node: "a", NodeUID: "1", Pod: "shop/web-0", Report: "r", Component: "kubelet", Reason: "Hung", Count: 3}, now)
		if _, err := c.Handle(t.Context(), events.SourceOf("c").Failing(report, "a", now)); err != nil {
			t.Fatal(err)
		}
		var did []string
		for _, x := range *written {
			if strings.Contains(x, "/pods/") {
				did = append(did, x[:strings.Index(x, " {")])
			}
		}
		return strings.Join(did, ", ")
	}
}

// asked asks what an event of a source without a token opens, two reports of whose
// stand there since five minutes.
func asked() question {
	return opens(problemsPath, mineNow, func(now time.Time) []corev1.Event {
		report := corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-5 * time.Minute))},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a", UID: "1"},
			Reason:         string(api.Reported), ReportingInstance: seriesOf(mineNow(now)),
		}
		return []corev1.Event{report, report}
	})
}
