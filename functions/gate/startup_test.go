package gate

import (
	"cmp"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/loop"
)

// TestANodeThatIsStarting: until its time is over none of its conditions counts,
// after it they need not.
func TestANodeThatIsStarting(t *testing.T) {
	now := time.Now()
	src := events.SourceOf("c")
	unready := src.Condition(events.ConditionChange{Node: "a", NodeUID: "1", Condition: "Ready", Status: "False", Unhealthy: true}, time.Time{}, now)
	suspect := src.Suspect("a", "1", mark, now, time.Time{}, now)
	fence, ready := []string{"POST 1 StartupTimeout"}, []string{"POST 1 NodeCondition Ready=Unknown"}
	for name, c := range map[string]struct {
		e             event.Event
		age           time.Duration
		status        string
		timeout, uid  string
		wantCondition []string
		ago           time.Duration // since when Ready is so; at its creation if zero
	}{
		"never Ready, within its time":                         {unready, 9 * time.Minute, "Unknown", "10m", "", nil, 0},
		"never Ready, its time over":                           {unready, 11 * time.Minute, "Unknown", "10m", "", fence, 0},
		"a status that no condition of the policy names":       {unready, 11 * time.Minute, "False", "10m", "", fence, 0},
		"an earlier Node of the name was Ready":                {unready, 11 * time.Minute, "False", "10m", "0", fence, 0},
		"an earlier Node of the name was Ready, this is young": {unready, time.Minute, "Unknown", "10m", "0", nil, 0},
		"it was Ready before":                                  {unready, time.Minute, "Unknown", "10m", "1", ready, 0},
		"it was Ready before, for long":                        {unready, time.Hour, "False", "10m", "1", nil, 0},
		"it is Ready, and only not enrolled":                   {unready, time.Hour, "True", "10m", "", nil, 0},
		"no timeout is set: young nodes count":                 {unready, time.Minute, "Unknown", "", "", ready, 0},
		"no timeout is set: no condition, no fence":            {unready, time.Hour, "False", "", "", nil, 0},
		"it was something else before, seen by nobody":         {unready, time.Hour, "False", "10m", "", nil, time.Second},
		"that, of a condition that its policy names":           {unready, time.Hour, "Unknown", "10m", "", ready, time.Second},
		"it says so for the first time":                        {unready, 11 * time.Minute, "False", "10m", "", fence, 11*time.Minute - 20*time.Second},
		"a still Lease of a starting node":                     {suspect, time.Minute, "Unknown", "10m", "", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			answers["/api/v1/nodes/a"] = fmt.Sprintf(`{"metadata":{"name":"a","uid":"1","creationTimestamp":%q},"status":{"conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`,
				now.Add(-c.age).UTC().Format(time.RFC3339), c.status, now.Add(-cmp.Or(c.ago, c.age)).UTC().Format(time.RFC3339))
			timeout := ""
			if c.timeout != "" {
				timeout = fmt.Sprintf(`"nodeStartupTimeout":%q,`, c.timeout)
			}
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","earlyProbe":{"leaseStillDuration":"12s"},` + timeout + `"unhealthyConditions":[{"type":"Ready","status":"Unknown"}]}}]}`
			if c.uid != "" {
				answers["/api/v1/namespaces/ns/configmaps/fence-enrolled-a"] = fmt.Sprintf(`{"metadata":{"name":"fence-enrolled-a"},"data":{"node_uid":%q}}`, c.uid)
			}
			client, written := apiOf(t, answers)
			g := &Gate{Client: client, Namespace: "ns", Log: slog.New(slog.DiscardHandler), Loop: &loop.Loop{Now: client.Clock().Now}}
			o, err := g.opener().Open(t.Context(), "a", c.e)
			if err != nil {
				t.Fatal(err)
			}
			if d := gocmp.Diff(c.wantCondition, wrote(written(), o)); d != "" {
				t.Error(d)
			}
		})
	}
}
