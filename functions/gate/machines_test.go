package gate

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestAFailedMachineOpensAFence of its node, however well that is: the event is a hint,
// what counts is what the policy that decides for the node says of this very Node (S18).
func TestAFailedMachineOpensAFence(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) string { return now.Add(d).UTC().Format("2006-01-02T15:04:05.000000Z") }
	failed := func(uid, more string) string {
		return `{"namespace":"m","name":"x","uid":"x","nodeName":"a","nodeUID":"` + uid + `","state":"Failed","message":"phase Failed","since":"` + at(-time.Minute) + `"` + more + `}`
	}
	past := func(outcome, since string) string {
		return `{"metadata":{"name":"a","uid":"f"},"spec":{"nodeName":"a"},` +
			`"status":{"fenceNumber":4,"decision":{"nodeUID":"1","trigger":{"type":"Machine","machine":{"namespace":"m","name":"x","uid":"x","state":"Failed"}}},"phase":"Finished","outcome":"` + outcome + `","evidence":[{"type":"Machine","machineState":"Failed","mark":"` + since + `"}]}}`
	}
	for name, c := range map[string]struct {
		failed, other, fence string
		want                 []string
		ready                string // True if empty
	}{
		"Failed":                        {failed: failed("1", ""), want: []string{"POST 1 Machine Failed"}},
		"nobody has seen it fail":       {},
		"another Node of the name":      {failed: failed("0", "")},
		"it waits":                      {failed: failed("1", `,"notBefore":"`+at(time.Minute)+`"`)},
		"it has waited":                 {failed: failed("1", `,"notBefore":"`+at(-time.Second)+`"`), want: []string{"POST 1 Machine Failed"}},
		"it is left alone":              {failed: failed("1", `,"held":"paused"`)},
		"only a policy that decides":    {other: failed("1", "")},
		"once more":                     {failed: failed("1", ""), fence: past("Recovered", at(-time.Minute)), want: []string{"PATCH 5 Machine Failed"}},
		"a person ended it":             {failed: failed("1", ""), fence: past("Aborted", at(-time.Minute))},
		"a person ended an earlier one": {failed: failed("1", ""), fence: past("Aborted", at(-time.Hour)), want: []string{"PATCH 5 Machine Failed"}},
		"a person ended it, node lost":  {failed: failed("1", ""), fence: past("Aborted", at(-time.Minute)), ready: "Unknown", want: []string{"PATCH 5 NodeCondition Ready=Unknown"}},
		"an earlier one, and node lost": {failed: failed("1", ""), fence: past("Aborted", at(-time.Hour)), ready: "Unknown", want: []string{"PATCH 5 Machine Failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			answers["/api/v1/nodes/a"] = strings.Replace(answers["/api/v1/nodes/a"], `"True"`, `"`+cmp.Or(c.ready, "True")+`"`, 1)
			if c.fence != "" {
				answers[fencePath] = c.fence
			}
			object := `{"metadata":{"name":%q},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","precedence":%d,"machines":{"selector":{},"startupTimeout":"10m"},"unhealthyConditions":[{"type":"Ready","status":"Unknown"}]},"status":{"failedMachines":[%s]}}`
			answers[policyPath] = `{"items":[` + fmt.Sprintf(object, "p", 1, c.failed) + `,` + fmt.Sprintf(object, "q", 2, c.other) + `]}`
			client, written := apiOf(t, answers)
			w := &told{}
			g := &Gate{Client: client, Log: slog.New(slog.DiscardHandler), Reporter: w, Loop: &loop.Loop{Now: client.Clock().Now}}
			e := events.SourceOf("c").Condition(events.ConditionChange{Node: "a", NodeUID: "1", Reason: string(api.MachineFailed), Unhealthy: true}, now, now)
			o, err := g.opener().Open(t.Context(), "a", e)
			if err != nil {
				t.Fatal(err)
			}
			if d := gocmp.Diff(c.want, wrote(written(), o)); d != "" {
				t.Error(d)
			}
			var said []string
			if c.want != nil && strings.Contains(c.want[0], "Machine") {
				said = []string{"MachineFailed a: MachineFailed: Machine m/x: phase Failed; expected by policy p"}
			}
			if d := gocmp.Diff(said, w.words); d != "" {
				t.Error(d)
			}
		})
	}
}

// alone asks which Machine that has no node is deleted, where the one of pool db has had
// none for an hour.
func alone(t *testing.T, spec []byte) string {
	w := newWorld()
	m := policy.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "m", Name: "x", UID: "x", CreationTimestamp: metav1.NewTime(w.now.Add(-time.Hour))}}
	yes := true
	m.OwnerReferences = []metav1.OwnerReference{{UID: "set", Controller: &yes}}
	w.cluster.Machines = []policy.Machine{m}
	for i := range w.cluster.Nodes {
		w.cluster.Nodes[i].Identity.Name = w.cluster.Nodes[i].Name
	}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: read[api.FencePolicySpec](t, spec)}
	p.Status = admission.PolicyStatus(&p, []api.FencePolicy{p}, w.cluster, &w.ledger, w.now)
	_, trigger, ok := policy.ResolveAlone([]api.FencePolicy{p}, "x", w.now)
	return fmt.Sprint(trigger.Reason, ok)
}

// TestAMachineWithoutANodeOpensARecord of its own name, which no Node may have.
func TestAMachineWithoutANodeOpensARecord(t *testing.T) {
	now := time.Now()
	since := now.Add(-time.Minute).UTC().Format("2006-01-02T15:04:05.000000Z")
	listed := `{"namespace":"m","name":"a","uid":"x","owner":"set","state":"NoNode","message":"no Node has come of it for 10m0s","since":"` + since + `"}`
	past := func(uid string) string {
		return `{"metadata":{"name":"a","uid":"f"},"spec":{"nodeName":"a"},` +
			`"status":{"fenceNumber":4,"decision":{"nodeUID":"","trigger":{"type":"Machine","machine":{"namespace":"m","name":"a","uid":"` + uid + `","state":"NoNode"}}},"phase":"Finished","outcome":"Aborted"}}`
	}
	for name, c := range map[string]struct {
		failed, expected, fence string
		there                   bool
		want                    []string
	}{
		"listed":                         {failed: listed, want: []string{"POST 1 Machine NoNode"}},
		"not listed":                     {},
		"of another name":                {failed: strings.Replace(listed, `"name":"a"`, `"name":"b"`, 1)},
		"a Node has its name":            {failed: listed, there: true},
		"only told":                      {failed: listed, expected: "Report"},
		"a person ended it":              {failed: listed, fence: past("x")},
		"a person ended another Machine": {failed: listed, fence: past("w"), want: []string{"PATCH 5 Machine NoNode"}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			if !c.there {
				delete(answers, "/api/v1/nodes/a")
			}
			if c.fence != "" {
				answers[fencePath] = c.fence
			}
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","machines":{"selector":{},"startupTimeout":"10m","withoutNode":"` + cmp.Or(c.expected, "Delete") +
				`"},"unhealthyConditions":[{"type":"Ready","status":"Unknown"}]},"status":{"failedMachines":[` + c.failed + `]}}]}`
			written, w := openedBy(t, answers, api.MachineFailed, now)
			if d := gocmp.Diff(c.want, written); d != "" {
				t.Error(d)
			}
			if said := len(w.words) == 1 && w.words[0] == "MachineFailed a: MachineFailed: Machine m/a, which has no node: no Node has come of it for 10m0s; expected by policy p"; said != (c.want != nil) {
				t.Error(w.words)
			}
		})
	}
}
