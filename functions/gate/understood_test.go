package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// telling hears refusals.
type telling struct {
	deaf
	words string
}

func (w *telling) Refused(_ context.Context, r report.Refusal) {
	w.words = string(r.Reason) + ": " + r.Message
}

// TestAProblemPolicyOfTomorrowAsksForNothing: a newer nodefence may have a field that narrows a rule. Without it
// the rule would fence nodes that it is not about. Who reports or asks is told which field it is.
func TestAProblemPolicyOfTomorrowAsksForNothing(t *testing.T) {
	const (
		hung     = `{"name":"r","kubernetesEvent":{"reason":"Hung"},"threshold":{"count":3},"action":"Fence"}`
		mine     = `{"name":"r","cloudEvent":{"source":"/me","brokerIsClosed":true},"action":"Fence"}`
		tomorrow = "PolicyNotUnderstood: NodeProblemPolicy q has spec.rules[0].hosts, which this nodefence does not know: upgrade nodefence, or take the field out"
	)
	newer := func(rule string) string { return strings.TrimSuffix(rule, "}") + `,"hosts":["b"]}` }
	others := strings.Replace(rulesOf(newer(hung)), `"selector":{}`, `"selector":{"matchLabels":{"pool":"db"}}`, 1)
	for name, c := range map[string]struct {
		event    func(time.Time) event.Event
		policies string
		fences   int
		says     string
	}{
		"a report":                {hungNode, rulesOf(hung), 1, ""},
		"a report, of tomorrow":   {hungNode, rulesOf(newer(hung)), 0, tomorrow},
		"a report, of others":     {hungNode, others, 0, "reason=NotInPolicies"},
		"a request":               {mineNow, rulesOf(mine), 1, ""},
		"a request, of tomorrow":  {mineNow, rulesOf(newer(mine)), 0, "with brokerIsClosed: true; " + tomorrow},
		"whose selector is lost":  {hungNode, strings.Replace(rulesOf(hung), `"selector":{}`, `"selector":7`, 1), 0, "PolicyNotUnderstood: NodeProblemPolicy q has spec.selector, which can't be read"},
		"beside one that is well": {hungNode, strings.TrimSuffix(rulesOf(hung), "]}") + "," + strings.TrimPrefix(rulesOf(newer(hung)), `{"items":[`), 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			list, err := json.Marshal(corev1.EventList{Items: reported("")(now)})
			if err != nil {
				t.Fatal(err)
			}
			answers := cluster(now)
			answers["/api/v1/namespaces/default/events"] = string(list)
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}]}`
			answers[problemsPath] = c.policies
			g, written := server(t, answers)
			var log strings.Builder
			heard := &telling{}
			g.Reporter, g.Log = heard, slog.New(slog.NewTextHandler(&log, nil))
			if _, err := g.opener().Open(t.Context(), "a", c.event(now)); err != nil {
				t.Fatal(err)
			}
			if got := howMany(*written); got != c.fences || !strings.Contains(log.String()+heard.words, c.says) {
				t.Errorf("%d fences, want %d; it says %s%s\nwant %s", got, c.fences, log.String(), heard.words, c.says)
			}
		})
	}
}

// TestAFieldOfTomorrowHolds: a newer nodefence may have a brake that this one does not know,
// in a policy, a budget or the ledger. It holds what it may be about, and says its name.
func TestAFieldOfTomorrowHolds(t *testing.T) {
	now := time.Now()
	const well, others = `"selector":{},"mode":"Enforce","action":"Reboot"`, `"selector":{"matchLabels":{"pool":"x"}},"mode":"Enforce","action":"Reboot"`
	const tomorrow = "which this nodefence does not know: upgrade nodefence, or take the field out"
	for name, c := range map[string]struct {
		p, more, budget, ledger string
		why                     api.Reason
		words                   string
	}{
		"none":                            {p: well},
		"of the policy":                   {p: well + `,"drainFirst":true`, why: api.PolicyNotUnderstood, words: "FencePolicy p has spec.drainFirst, " + tomorrow},
		"of one whose limits hold":        {p: well, more: `{"metadata":{"name":"q"},"spec":{"precedence":200,"drainFirst":true,` + well + `}}`, why: api.PolicyNotUnderstood, words: "FencePolicy q has spec.drainFirst, " + tomorrow},
		"of others":                       {p: well, more: `{"metadata":{"name":"q"},"spec":{"drainFirst":true,` + others + `}}`},
		"of others, about etcd":           {p: well, more: `{"metadata":{"name":"q"},"spec":{"controlPlane":{"etcdSelector":{}},` + others + `}}`, why: api.PolicyNotUnderstood, words: "FencePolicy q has spec.controlPlane.etcdSelector, " + tomorrow},
		"of others, about a missing node": {p: well, more: `{"metadata":{"name":"q"},"spec":{` + others + `},"status":{"missing":[{"nodeName":"z","since":"2026-01-01T00:00:00.000000Z","heldBy":"me"}]}}`, why: api.PolicyNotUnderstood, words: "FencePolicy q has status.missing[0].heldBy, " + tomorrow},
		"another that nobody reads":       {p: well, more: `{"metadata":{"name":"q"},"spec":{"selector":7}}`, why: api.PolicyNotUnderstood, words: "FencePolicy q has spec.selector, which can't be read (cannot unmarshal number into Go value of type v1alpha1.LabelSelector), no spec.mode and no spec.action: correct that"},
		"no mode":                         {p: `"selector":{},"action":"Reboot"`, why: api.PolicyNotUnderstood, words: "FencePolicy p has no spec.mode: correct that"},
		"of the budget":                   {p: well, budget: `"selector":{},"minAvailable":1,"perZone":true`, why: api.PolicyNotUnderstood, words: "FenceBudget b has spec.perZone, " + tomorrow},
		"of a budget of others":           {p: well, budget: `"selector":{"matchLabels":{"pool":"x"}},"minAvailable":1,"perZone":true`},
		"of the ledger":                   {p: well, ledger: `,"spec":{"stopNodes":["a"]}`, why: api.PolicyNotUnderstood, words: "FenceLedger cluster has spec.stopNodes, " + tomorrow},
		"a slot of tomorrow's ledger":     {p: well, ledger: `,"status":{"slots":[1]}`, why: api.PolicyNotUnderstood, words: "FenceLedger cluster has status.slots, " + tomorrow},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			answers["/api/v1/nodes/a"] = `{"metadata":{"name":"a","uid":"1"},"status":{"conditions":[{"type":"Ready","status":"Unknown","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`
			answers["/api/v1/nodes"] = `{"items":[` + answers["/api/v1/nodes/a"] + `]}`
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{` + c.p + `,"limits":{"maxUnhealthy":9},"unhealthyConditions":[{"type":"Ready","status":"Unknown"}]}}`
			if c.more != "" {
				answers[policyPath] += "," + c.more
			}
			answers[policyPath] += "]}"
			answers["/apis/nodefence.io/v1alpha1/nodefences"] = `{"items":[]}`
			answers["/apis/nodefence.io/v1alpha1/fencebudgets"] = `{"items":[]}`
			if c.budget != "" {
				answers["/apis/nodefence.io/v1alpha1/fencebudgets"] = `{"items":[{"metadata":{"name":"b"},"spec":{` + c.budget + `}}]}`
			}
			if c.ledger != "" {
				answers[ledgerPath] = `{"metadata":{"name":"cluster"}` + c.ledger + `}`
			}
			g, _ := server(t, answers)
			policies, err := g.Client.Policies(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f"}, Spec: api.NodeFenceSpec{NodeName: "a"}}
			f.Status.FenceNumber, f.Status.Decision.NodeUID = 1, "1"
			f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(policies, "a", nil)
			f.Status.Decision.Devices = api.Named(api.Binding{Driver: "mem"})
			seen := observed.Look{Me: "me", Finalizer: true, Resolved: true}
			if err := g.Look(t.Context(), f, &seen, 0); err != nil {
				t.Fatal(err)
			}
			f.Status, _ = fence.Decide(f, seen, now) // opens it
			st, act := fence.Decide(f, seen, now)
			why, words := st.Reason, st.Message
			if act == fence.Reserve {
				r, err := g.Act(t.Context(), f, fence.Reserve, seen)
				if err != nil {
					t.Fatal(err)
				}
				if why, words = "", ""; r.Verdict != nil {
					why, words = r.Verdict.Reason, r.Verdict.Message
				}
			}
			if why != c.why || words != c.words {
				t.Errorf("%s: %s\nwant %s: %s", why, words, c.why, c.words)
			}
		})
	}
}

// TestARecordOfTomorrowIsLeftAlone: where a newer nodefence has written a NodeFence, whether
// its fence has ended or is open, nothing that comes has this one open, join or write it (S21).
func TestARecordOfTomorrowIsLeftAlone(t *testing.T) {
	now := time.Now()
	for record, phase := range map[string]api.Phase{"that has ended": api.Finished, "that is open": api.Pending} {
		for name, c := range map[string]struct {
			e    event.Event
			rule string
		}{
			"a node that is lost":         {events.SourceOf("c").Condition(events.ConditionChange{Node: "a", NodeUID: "1", Condition: "Ready", Status: "Unknown", Unhealthy: true}, time.Time{}, now), ""},
			"a Lease that stands still":   {events.SourceOf("c").Suspect("a", "1", mark, now, time.Time{}, now), ""},
			"an event that asks":          {mineNow(now), `{"name":"r","cloudEvent":{"source":"/me","brokerIsClosed":true},"action":"Fence"}`},
			"a problem that was reported": {hungNode(now), `{"name":"r","kubernetesEvent":{"reason":"Hung"},"threshold":{"count":3},"action":"Fence"}`},
		} {
			for version, wants := range map[int32]bool{api.Schema: true, api.Schema + 1: false} {
				if phase == api.Pending && version == api.Schema {
					continue // what comes of that is seen elsewhere
				}
				answers := cluster(now)
				answers["/api/v1/nodes/a"] = strings.Replace(answers["/api/v1/nodes/a"], `"status":"True"`, `"status":"Unknown"`, 1)
				list, err := json.Marshal(corev1.EventList{Items: reported("")(now)})
				if err != nil {
					t.Fatal(err)
				}
				answers["/api/v1/namespaces/default/events"] = string(list)
				answers[problemsPath] = rulesOf(c.rule)
				answers[fencePath] = fmt.Sprintf(`{"metadata":{"name":"a","uid":"f"},"spec":{"nodeName":"a"},"status":{"fenceNumber":4,"minReaderVersion":%d,"phase":%q,"decision":{"nodeUID":"1"}}}`, version, phase)
				g, written := server(t, answers)
				o, err := g.opener().Open(t.Context(), "a", c.e)
				if err != nil {
					t.Fatal(err)
				}
				if got := o.Fence != nil || len(*written) > 0; got != wants {
					t.Errorf("%s, a record %s, of version %d: touched: %v, %v", name, record, version, got, *written)
				}
			}
		}
	}
}
