package gate

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// told keeps what was alerted.
type told struct {
	report.Reporter
	words []string
}

func (t *told) Alerted(_ context.Context, r report.Refusal, problem string) {
	t.words = append(t.words, problem+" "+r.Node+": "+r.Message)
}

// openedBy is what the gate writes, and tells, when an event says that this is wrong
// with node a.
func openedBy(t *testing.T, answers map[string]string, reason api.Reason, now time.Time) ([]string, *told) {
	t.Helper()
	client, written := apiOf(t, answers)
	w := &told{}
	g := &Gate{Client: client, Log: slog.New(slog.DiscardHandler), Reporter: w, Loop: &loop.Loop{Now: client.Clock().Now}}
	e := events.SourceOf("c").Condition(events.ConditionChange{Node: "a", Reason: string(reason), Unhealthy: true}, now, now)
	o, err := g.opener().Open(t.Context(), "a", e)
	if err != nil {
		t.Fatal(err)
	}
	return wrote(written(), o), w
}

// TestAMissingNodeOpensAFence: the event is a hint, what counts is the Node that is
// not there and the policy that says since when (S18).
func TestAMissingNodeOpensAFence(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) string { return now.Add(-d).UTC().Format("2006-01-02T15:04:05.000000Z") }
	since := at(11 * time.Minute)
	past := func(outcome, mark string) string {
		return `{"metadata":{"name":"a","uid":"f"},"spec":{"nodeName":"a"},` +
			`"status":{"fenceNumber":4,"decision":{"nodeUID":"","trigger":{"type":"NodeMissing","nodeMissing":{"duration":"10m"}}},"phase":"Finished","outcome":"` + outcome + `","evidence":[{"type":"NodeMissing","mark":"` + mark + `"}]}}`
	}
	said := []string{"NodeMissing a: no Node object; expected by policy p"}
	for name, c := range map[string]struct {
		missing, fence string
		there          bool
		want           []string
	}{
		"for too long":                  {`{"nodeName":"a","since":"` + since + `"}`, "", false, []string{"POST 1 NodeMissing"}},
		"not for long":                  {`{"nodeName":"a","since":"` + at(9*time.Minute) + `"}`, "", false, nil},
		"nobody has seen it missing":    {`{"nodeName":"b","since":"` + since + `"}`, "", false, nil},
		"it is there":                   {`{"nodeName":"a","since":"` + since + `"}`, "", true, nil},
		"once more":                     {`{"nodeName":"a","since":"` + since + `"}`, past("Recovered", since), false, []string{"PATCH 5 NodeMissing"}},
		"a person ended it":             {`{"nodeName":"a","since":"` + since + `"}`, past("Aborted", since), false, nil},
		"a person ended an earlier one": {`{"nodeName":"a","since":"` + since + `"}`, past("Aborted", at(time.Hour)), false, []string{"PATCH 5 NodeMissing"}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			if !c.there {
				delete(answers, "/api/v1/nodes/a")
			}
			if c.fence != "" {
				answers[fencePath] = c.fence
			}
			answers[policyPath] = fmt.Sprintf(`{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","missingNodes":{"nodeNames":["a"],"duration":"10m"},`+
				`"unhealthyConditions":[{"type":"Ready","status":"Unknown"}]},"status":{"missing":[%s]}}]}`, c.missing)
			written, w := openedBy(t, answers, api.NodeMissing, now)
			if d := cmp.Diff(c.want, written); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(said, w.words); d != "" && c.want != nil || c.want == nil && w.words != nil {
				t.Errorf("told %s", strings.Join(w.words, ", "))
			}
		})
	}
}

// overdue asks who is missing for too long where node gone, which a Machine of pool db
// names, has had no Node object for twenty minutes.
func overdue(t *testing.T, spec []byte) string {
	w := newWorld()
	var m policy.Machine
	m.Namespace, m.Name, m.Labels = "m", "x", map[string]string{"pool": "db"}
	m.Status.NodeRef = &policy.NodeRef{Name: "gone"}
	w.cluster.Machines = []policy.Machine{m}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: read[api.FencePolicySpec](t, spec)}
	p.Status.Missing = []api.MissingNode{{NodeName: "gone", Since: *w.ago(20 * time.Minute)}}
	p.Status.ObservedAt = w.ago(0)
	p.Status = admission.PolicyStatus(&p, []api.FencePolicy{p}, w.cluster, &w.ledger, w.now)
	return fmt.Sprint(policy.Overdue(&p, w.now))
}
