package gate

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/step"
)

// TestANodeThatIsStarting: until its time is over none of its conditions counts,
// after it they need not.
func TestANodeThatIsStarting(t *testing.T) {
	now := time.Now()
	src := events.SourceOf("c")
	unready := src.Condition(events.ConditionChange{Node: "a", NodeUID: "1", Condition: "Ready", Status: "False", Unhealthy: true}, time.Time{}, now)
	suspect := src.Suspect("a", "1", mark, now, time.Time{}, now)
	fence, ready := []string{"POST 1 Startup=TimedOut"}, []string{"POST 1 Ready=Unknown"}
	for name, c := range map[string]struct {
		e             event.Event
		age           time.Duration
		status        string
		timeout, uid  string
		wantCondition []string
	}{
		"never Ready, within its time":                         {unready, 9 * time.Minute, "Unknown", "10m", "", nil},
		"never Ready, its time over":                           {unready, 11 * time.Minute, "Unknown", "10m", "", fence},
		"a status that no condition of the policy names":       {unready, 11 * time.Minute, "False", "10m", "", fence},
		"an earlier Node of the name was Ready":                {unready, 11 * time.Minute, "False", "10m", "0", fence},
		"an earlier Node of the name was Ready, this is young": {unready, time.Minute, "Unknown", "10m", "0", nil},
		"it was Ready before":                                  {unready, time.Minute, "Unknown", "10m", "1", ready},
		"it was Ready before, for long":                        {unready, time.Hour, "False", "10m", "1", nil},
		"it is Ready, and only not enrolled":                   {unready, time.Hour, "True", "10m", "", nil},
		"no timeout is set: young nodes count":                 {unready, time.Minute, "Unknown", "", "", ready},
		"no timeout is set: no condition, no fence":            {unready, time.Hour, "False", "", "", nil},
		"a still Lease of a starting node":                     {suspect, time.Minute, "Unknown", "10m", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			answers["/api/v1/nodes/a"] = fmt.Sprintf(`{"metadata":{"name":"a","uid":"1","creationTimestamp":%q},"status":{"conditions":[{"type":"Ready","status":%q}]}}`,
				now.Add(-c.age).UTC().Format(time.RFC3339), c.status)
			timeout := ""
			if c.timeout != "" {
				timeout = fmt.Sprintf(`"startupTimeout":%q,`, c.timeout)
			}
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"earlyEvidence":{"leaseStillFor":"12s"},"unhealthy":{` + timeout + `"conditions":[{"type":"Ready","status":"Unknown"}]}}}]}`
			answers["/api/v1/namespaces/ns/configmaps"] = `{"items":[]}`
			if c.uid != "" {
				answers["/api/v1/namespaces/ns/configmaps"] = fmt.Sprintf(`{"items":[{"metadata":{"name":"fence-enrolled-a"},"data":{"node_uid":%q}}]}`, c.uid)
			}
			client, written := apiOf(t, answers)
			g := &Gate{Client: client, Namespace: "ns", Log: slog.New(slog.DiscardHandler), Loop: &step.Loop{Now: client.Clock().Now}}
			if _, err := g.open(t.Context(), "a", c.e); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.wantCondition, written()); d != "" {
				t.Error(d)
			}
		})
	}
}
