package gate

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/step"
)

// TestAFailedMachineOpensAFence of its node, however well that is: the event is a hint,
// what counts is what the policy that decides for the node says of this very Node (S18).
func TestAFailedMachineOpensAFence(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) string { return now.Add(d).UTC().Format("2006-01-02T15:04:05.000000Z") }
	failed := func(uid, more string) string {
		return `{"name":"m/x","uid":"x","node":"a","nodeUID":"` + uid + `","status":"Failed","message":"phase Failed","since":"` + at(-time.Minute) + `"` + more + `}`
	}
	past := func(outcome, since string) string {
		return `{"metadata":{"name":"a","uid":"f"},"spec":{"node":"a","nodeUID":"1","generation":4,"trigger":{"condition":"Machine","status":"Failed"}},` +
			`"status":{"generation":4,"phase":"Finished","outcome":"` + outcome + `","evidence":[{"type":"Machine","status":"Failed","mark":"` + since + `"}]}}`
	}
	for name, c := range map[string]struct {
		failed, other, fence string
		want                 []string
	}{
		"Failed":                        {failed: failed("1", ""), want: []string{"POST 1 Machine=Failed"}},
		"nobody has seen it fail":       {},
		"another Node of the name":      {failed: failed("0", "")},
		"it waits":                      {failed: failed("1", `,"notBefore":"`+at(time.Minute)+`"`)},
		"it has waited":                 {failed: failed("1", `,"notBefore":"`+at(-time.Second)+`"`), want: []string{"POST 1 Machine=Failed"}},
		"it is left alone":              {failed: failed("1", `,"held":"paused"`)},
		"only a policy that decides":    {other: failed("1", "")},
		"once more":                     {failed: failed("1", ""), fence: past("Recovered", at(-time.Minute)), want: []string{"PUT 5 Machine=Failed"}},
		"a person ended it":             {failed: failed("1", ""), fence: past("Aborted", at(-time.Minute))},
		"a person ended an earlier one": {failed: failed("1", ""), fence: past("Aborted", at(-time.Hour)), want: []string{"PUT 5 Machine=Failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			if c.fence != "" {
				answers[fencePath] = c.fence
			}
			policy := `{"metadata":{"name":%q},"spec":{"priority":%d,"expected":{"machineSelector":{},"missingFor":"10m"},"unhealthy":{"conditions":[{"type":"Ready","status":"Unknown"}]}},"status":{"failed":[%s]}}`
			answers[policyPath] = `{"items":[` + fmt.Sprintf(policy, "p", 1, c.failed) + `,` + fmt.Sprintf(policy, "q", 2, c.other) + `]}`
			client, written := apiOf(t, answers)
			w := &told{}
			g := &Gate{Client: client, Log: slog.New(slog.DiscardHandler), Witness: w, Loop: &step.Loop{Now: client.Clock().Now}}
			e := events.SourceOf("c").Condition(events.ConditionChange{Node: "a", NodeUID: "1", Condition: "Machine", Status: "Failed", Unhealthy: true}, now, now)
			if _, _, err := g.open(t.Context(), "a", e); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, written()); d != "" {
				t.Error(d)
			}
			var said []string
			if c.want != nil {
				said = []string{"MachineFailed a: MachineFailed: Machine m/x: phase Failed; expected by policy p"}
			}
			if d := cmp.Diff(said, w.words); d != "" {
				t.Error(d)
			}
		})
	}
}
