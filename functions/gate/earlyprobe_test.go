package gate

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate/open"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/loop"
)

// apiOf answers from a table, with the time that it has, and keeps what is written.
func apiOf(t *testing.T, answers map[string]string) (*kube.Client, func() []string) {
	t.Helper()
	var written []string
	c := kubetest.Client(t, kubetest.Table(answers, func(w http.ResponseWriter, r *http.Request) {
		var f api.NodeFence
		if r.Method == http.MethodPatch {
			_ = json.Unmarshal([]byte(answers[r.URL.Path]), &f)
		}
		_ = json.NewDecoder(r.Body).Decode(&f)
		tr := f.Status.Decision.Trigger
		written = append(written, fmt.Sprintf("%s %d %s", r.Method, f.Status.FenceNumber, wordsOf(tr)))
		kubetest.Answer(w, f)
	}))
	return c, func() []string { return written }
}

// wordsOf is what a fence opened for.
func wordsOf(t api.Trigger) string {
	words := string(t.Type)
	if c := t.NodeCondition; c != nil {
		words += " " + c.Type + "=" + c.Status
	}
	if t.Machine != nil {
		words += " " + string(t.Machine.State)
	}
	return words
}

// wrote is what was written, the last of it with the fence that it opens.
func wrote(writes []string, r open.Result) []string {
	if r.Next != open.Begin {
		return writes
	}
	method, t := "nothing", r.Fence.Status.Decision.Trigger
	if n := len(writes); n > 0 {
		method, _, _ = strings.Cut(writes[n-1], " ")
		writes = writes[:n-1]
	}
	return append(writes, fmt.Sprintf("%s %d %s", method, r.Fence.Status.FenceNumber, wordsOf(t)))
}

const (
	fencePath    = "/apis/nodefence.io/v1alpha1/nodefences/a"
	policyPath   = "/apis/nodefence.io/v1alpha1/fencepolicies"
	problemsPath = "/apis/nodefence.io/v1alpha1/nodeproblempolicies"
	ledgerPath   = "/apis/nodefence.io/v1alpha1/fenceledgers/cluster"
	leasePath    = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a"
	mark         = "2026-01-02T03:04:05Z"
)

// cluster is one in which the Lease of node a stands still, as its policy and the
// source have it.
func cluster(now time.Time) map[string]string {
	ts := func(ago time.Duration) string { return now.Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z") }
	return map[string]string{
		"/api/v1/nodes/a": `{"metadata":{"name":"a","uid":"1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
		policyPath:        `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","earlyProbe":{"leaseStillDuration":"12s"},"unhealthyConditions":[{"type":"Ready","status":"Unknown"}]}}]}`,
		problemsPath:      `{"items":[]}`,
		leasePath:         `{"metadata":{"name":"a"},"spec":{"renewTime":"2026-01-02T03:04:05.000000Z"}}`,
		ledgerPath: `{"metadata":{"name":"cluster"},"status":{"leases":{"since":"` + ts(time.Hour) + `","observedAt":"` + ts(0) +
			`","renewal":"10s","total":9,"still":[{"nodeName":"a","renewed":"` + mark + `","since":"` + ts(12*time.Second) + `"}]}}}`,
	}
}

func TestASuspectOpensAFence(t *testing.T) { // S18
	now := time.Now()
	with := func(path, old, new string) func(map[string]string) {
		return func(m map[string]string) {
			if !strings.Contains(m[path], old) {
				t.Errorf("%s has no %q", path, old)
			}
			m[path] = strings.Replace(m[path], old, new, 1)
		}
	}
	past := func(outcome, trigger, renewed string) func(map[string]string) {
		return func(m map[string]string) {
			m[fencePath] = `{"metadata":{"name":"a","uid":"f"},"spec":{"nodeName":"a"},` +
				`"status":{"fenceNumber":4,"decision":{"nodeUID":"1","trigger":{` + trigger + `}},"phase":"Finished","outcome":"` + outcome + `","lease":{"renewed":"` + renewed + `"}}}`
		}
	}
	// asked has that fence asked for by one FenceRequest, and one noted as withdrawn.
	asked := func(by, withdrawn string) func(map[string]string) {
		return func(m map[string]string) {
			m[fencePath] = strings.Replace(m[fencePath], `"uid":"f"`, `"uid":"f","annotations":{"nodefence.io/withdrawn-request":"`+withdrawn+`"}`, 1)
			m[fencePath] = strings.Replace(m[fencePath], `"nodeUID":"1",`, `"nodeUID":"1","askedBy":[{"id":"`+by+`","source":"s","type":"t","joinedAt":"2026-01-02T03:04:05.000000Z"}],`, 1)
		}
	}
	lease := `"type":"LeaseStill","leaseStill":{"duration":"12s"}`
	unready := with("/api/v1/nodes/a", `"status":"True"`, `"status":"Unknown"`)
	unhealthy := events.SourceOf("c").Condition(events.ConditionChange{Node: "a", NodeUID: "1", Condition: "Ready", Status: "Unknown", Unhealthy: true}, time.Time{}, now)
	suspect := events.SourceOf("c").Suspect("a", "1", mark, now, time.Time{}, now)
	for name, c := range map[string]struct {
		e      event.Event
		change []func(map[string]string)
		want   []string
	}{
		"a still Lease that the source sees too":       {suspect, nil, []string{"POST 1 LeaseStill"}},
		"a policy that asks for no early probe":        {suspect, []func(map[string]string){with(policyPath, `"earlyProbe":{"leaseStillDuration":"12s"},`, "")}, nil},
		"a dry run":                                    {suspect, []func(map[string]string){with(policyPath, `"mode":"Enforce"`, `"mode":"DryRun"`)}, nil},
		"a Lease that has moved since":                 {suspect, []func(map[string]string){with(leasePath, "04:05", "04:15")}, nil},
		"a Lease that is gone":                         {suspect, []func(map[string]string){func(m map[string]string) { delete(m, leasePath) }}, nil},
		"one that the source does not see stand":       {suspect, []func(map[string]string){with(ledgerPath, `"nodeName":"a"`, `"nodeName":"b"`)}, nil},
		"most of them still: it may be us":             {suspect, []func(map[string]string){with(ledgerPath, `"total":9`, `"total":3`), with(ledgerPath, `"still":[`, `"still":[{"nodeName":"b","renewed":"x","since":"2026-01-02T03:04:05.000000Z"},`)}, nil},
		"no word of a Lease in the event's name alone": {unhealthy, nil, nil},
		"a node that is lost already has a condition":  {suspect, []func(map[string]string){unready}, []string{"POST 1 NodeCondition Ready=Unknown"}},
		"the next fence of the node":                   {suspect, []func(map[string]string){past("Recovered", lease, "old")}, []string{"PATCH 5 LeaseStill"}},
		"a person ended the fence for this very Lease": {suspect, []func(map[string]string){past("Aborted", lease, mark)}, nil},
		"or for an earlier one":                        {suspect, []func(map[string]string){past("Aborted", lease, "old")}, []string{"PATCH 5 LeaseStill"}},
		"which then makes the node unready":            {unhealthy, []func(map[string]string){past("Aborted", lease, mark), unready}, nil},
		"a request for it was withdrawn":               {unhealthy, []func(map[string]string){past("Aborted", lease, mark), unready, asked("u", "u")}, []string{"PATCH 5 NodeCondition Ready=Unknown"}},
		"another request was withdrawn":                {unhealthy, []func(map[string]string){past("Aborted", lease, mark), unready, asked("u", "v")}, nil},
		"or another Lease does":                        {unhealthy, []func(map[string]string){past("Aborted", lease, "old"), unready}, []string{"PATCH 5 NodeCondition Ready=Unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			for _, change := range c.change {
				change(answers)
			}
			client, written := apiOf(t, answers)
			g := &Gate{Client: client, Log: slog.New(slog.DiscardHandler), Loop: &loop.Loop{Now: client.Clock().Now}}
			o, err := g.opener().Open(t.Context(), "a", c.e)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, wrote(written(), o)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAnEventIsOfSomethingNew: what this process saw a moment ago may be from before
// that which the event is about, and must not have it ignored until the next resync.
func TestAnEventIsOfSomethingNew(t *testing.T) { // S19
	now := time.Now()
	answers := cluster(now)
	drawn := answers[ledgerPath]
	answers[ledgerPath] = strings.Replace(drawn, `"nodeName":"a"`, `"nodeName":"b"`, 1)
	client, written := apiOf(t, answers)
	g := &Gate{Client: client, Log: slog.New(slog.DiscardHandler), Loop: &loop.Loop{
		Now: client.Clock().Now, Elapsed: client.Clock().Elapsed, Me: func() string { return "me" }, Store: client,
	}}
	for _, want := range [][]string{nil, {"POST 0 "}} {
		if _, err := g.Handle(t.Context(), events.SourceOf("c").Suspect("a", "1", mark, now, time.Time{}, now)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, written()); d != "" {
			t.Fatal(d)
		}
		answers[ledgerPath] = drawn // the source's picture comes a moment later than the gate's look
	}
}
