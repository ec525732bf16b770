package gate

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate/open"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/loop"
)

// TestAnotherFailureThanTheAborted opens a fence, in whatever order the policy names them. What a person
// has aborted speaks for none: neither for the new one (S17) nor for one after it.
func TestAnotherFailureThanTheAborted(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	at := func(ago time.Duration) string { return now.Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z") }
	of := func(what, status string, ago time.Duration) string {
		return `{"type":"NodeCondition","condition":"` + what + `","status":"` + status + `","mark":"` + at(ago) + `","since":"` + at(ago) + `"}`
	}
	deadlock, lost := of("KernelDeadlock", "True", time.Hour), of("Ready", "Unknown", time.Minute)
	machine := `{"type":"Machine","machineState":"Failed","mark":"` + at(time.Hour) + `","since":"` + at(time.Hour) + `"}`
	record := func(uid, outcome, evidence, noted string) string {
		return fmt.Sprintf(`{"metadata":{"name":"a","uid":"f","finalizers":[%q],"annotations":{%q:%q}},"spec":{"nodeName":"a"},"status":{"fenceNumber":4,"phase":"Finished","outcome":%q,"decision":{"nodeUID":%q},"evidence":[%s]}}`,
			api.Finalizer, api.AbortedAnnotation, noted, outcome, uid, evidence)
	}
	aborted := func(evidence ...string) string { return record("1", "Aborted", strings.Join(evidence, ","), "") }
	before := func(uid string, evidence ...string) string {
		return record("1", "HealedBeforeFence", "", `{"nodeUID":"`+uid+`","evidence":[`+strings.Join(evidence, ",")+`]}`)
	}
	early := func(evidence string) string {
		was := `"decision":{"trigger":{"type":"LeaseStill","leaseStill":{"duration":"12s"}},`
		return strings.Replace(record("1", "Aborted", evidence, ""), `"decision":{`, `"lease":{"renewed":"`+mark+`"},`+was, 1)
	}
	stood := func(uid, renewed string) string {
		return record("1", "HealedBeforeFence", "", `{"nodeUID":"`+uid+`","lease":"`+renewed+`"}`)
	}
	const both, one, dead = "Ready=Unknown KernelDeadlock=True", "Ready=True KernelDeadlock=True", "Ready=Unknown KernelDeadlock=False"
	for name, c := range map[string]struct {
		holds, fence string
		failed       bool
		want         string // what the fence opens for, what is wrong at its first look, and once Ready comes back
	}{
		"nothing was aborted, the first":            {both, record("1", "Recovered", "", ""), false, "%s: %[1]s %s; KernelDeadlock"},
		"the other is":                              {both, aborted(deadlock), false, "Ready: Ready; "},
		"the lost node is":                          {both, aborted(lost), false, "KernelDeadlock: KernelDeadlock; KernelDeadlock"},
		"both are":                                  {both, aborted(deadlock, lost), false, ""},
		"it is, and nothing else fails":             {one, aborted(deadlock), false, ""},
		"it was at another time":                    {one, aborted(of("KernelDeadlock", "True", 2*time.Hour)), false, "KernelDeadlock: KernelDeadlock; KernelDeadlock"},
		"of another Node object":                    {one, record("0", "Aborted", deadlock, ""), false, "KernelDeadlock: KernelDeadlock; KernelDeadlock"},
		"before the last fence":                     {one, before("1", deadlock), false, ""},
		"that, and the node is lost":                {both, before("1", deadlock), false, "Ready: Ready; "},
		"that, of another Node object":              {one, before("0", deadlock), false, "KernelDeadlock: KernelDeadlock; KernelDeadlock"},
		"one before, now the other":                 {both, record("1", "Aborted", lost, `{"nodeUID":"1","evidence":[`+deadlock+`]}`), false, ""},
		"a Machine's, and one more":                 {both, aborted(machine, deadlock), true, "Ready: Ready; "},
		"one, and a Machine fails":                  {both, aborted(deadlock, lost), true, "Machine: Machine; Machine"},
		"an early probe, the node is lost":          {dead, early(""), false, ""},
		"that, and it says that it is ill":          {"Ready=False KernelDeadlock=True", early(deadlock), false, "Ready: Ready; "},
		"an early probe, and another failure":       {both, early(""), false, "KernelDeadlock: KernelDeadlock; KernelDeadlock"},
		"an early probe, and a Machine fails":       {dead, early(""), true, "Machine: Machine; KernelDeadlock Machine"},
		"an early probe before the last fence":      {dead, stood("1", mark), false, ""},
		"that, and another failure":                 {both, stood("1", mark), false, "KernelDeadlock: KernelDeadlock; KernelDeadlock"},
		"that, where the Lease has moved since":     {dead, stood("1", "old"), false, "Ready: Ready; KernelDeadlock"},
		"that, for another Node object of the name": {dead, stood("0", mark), false, "Ready: Ready; KernelDeadlock"},
	} {
		for _, order := range []string{"Ready KernelDeadlock", "KernelDeadlock Ready"} {
			t.Run(name+", "+order, func(t *testing.T) {
				answers := cluster(now)
				nodeOf := func(holds string) string {
					ready, deadlock, _ := strings.Cut(holds, " ")
					return fmt.Sprintf(`{"metadata":{"name":"a","uid":"1"},"status":{"conditions":[{"type":"KernelDeadlock","status":%q,"lastTransitionTime":%q},{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`,
						strings.TrimPrefix(deadlock, "KernelDeadlock="), now.Add(-time.Hour).UTC().Format(time.RFC3339), strings.TrimPrefix(ready, "Ready="), now.Add(-time.Minute).UTC().Format(time.RFC3339))
				}
				ready, _, _ := strings.Cut(strings.TrimPrefix(c.holds, "Ready="), " ")
				if ready == "True" {
					ready = "Unknown"
				}
				conditions := []string{`{"type":"Ready","status":"` + ready + `"}`, `{"type":"KernelDeadlock","status":"True"}`}
				if strings.HasPrefix(order, "K") {
					conditions[0], conditions[1] = conditions[1], conditions[0]
				}
				failed := ""
				if c.failed {
					failed = `{"namespace":"m","name":"x","uid":"x","nodeName":"a","nodeUID":"1","state":"Failed","message":"phase Failed","since":"` + at(time.Hour) + `"}`
				}
				answers["/api/v1/nodes/a"], answers[fencePath] = nodeOf(c.holds), c.fence
				answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","machines":{"selector":{}},"unhealthyConditions":[` + strings.Join(conditions, ",") + `]},"status":{"failedMachines":[` + failed + `]}}]}`
				client, _ := apiOf(t, answers)
				g := &Gate{Client: client, Log: slog.New(slog.DiscardHandler), Reporter: &told{}, Loop: &loop.Loop{Now: client.Clock().Now}}
				o, err := g.opener().Open(t.Context(), "a", events.SourceOf("c").Condition(events.ConditionChange{Node: "a", NodeUID: "1", Condition: "Ready", Status: "Unknown", Unhealthy: true}, now, now))
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				if o.Fence != nil {
					got = opensFor(o.Fence.Status.Decision.Trigger) + ": " + g.wrong(t, o.Fence)
					answers["/api/v1/nodes/a"] = nodeOf(one)
					got += "; " + g.wrong(t, o.Fence)
				}
				want := c.want
				if strings.Contains(want, "%") {
					all := strings.Fields(order)
					want = fmt.Sprintf(want, all[0], all[1])
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// TestAnAbortedEarlyProbeIsKept: a person aborts an early probe. A fence for another failure opens and ends after
// that. The Lease that still stands opens none, however it is told, until it has moved.
func TestAnAbortedEarlyProbeIsKept(t *testing.T) { // S17
	now := time.Now().Truncate(time.Second)
	answers := cluster(now)
	client, _ := apiOf(t, answers)
	g := &Gate{Client: client, Log: slog.New(slog.DiscardHandler), Loop: &loop.Loop{Now: client.Clock().Now}}
	src := events.SourceOf("c")
	opens := func(deadlock, ready string) (o open.Result) {
		t.Helper()
		answers["/api/v1/nodes/a"] = `{"metadata":{"name":"a","uid":"1"},"status":{"conditions":[{"type":"KernelDeadlock","status":"` + deadlock + `"},{"type":"Ready","status":"` + ready + `"}]}}`
		for _, e := range []event.Event{
			src.Suspect("a", "1", mark, now, time.Time{}, now),
			src.Condition(events.ConditionChange{Node: "a", NodeUID: "1", Condition: "Ready", Status: ready, Unhealthy: true}, time.Time{}, now),
		} {
			is, err := g.opener().Open(t.Context(), "a", e)
			if err != nil {
				t.Fatal(err)
			}
			if o.Fence == nil {
				o = is
			}
		}
		return o
	}
	answers[policyPath] = strings.Replace(answers[policyPath], `"unhealthyConditions":[`, `"unhealthyConditions":[{"type":"KernelDeadlock","status":"True"},`, 1)
	answers[fencePath] = `{"metadata":{"name":"a","uid":"f"},"spec":{"nodeName":"a"},"status":{"fenceNumber":4,"phase":"Finished","outcome":"Aborted","lease":{"renewed":"` + mark +
		`"},"decision":{"nodeUID":"1","trigger":{"type":"LeaseStill","leaseStill":{"duration":"12s"}}}}}`
	if o := opens("False", "Unknown"); o.Fence != nil {
		t.Errorf("the aborted failure opens fence %d for %s", o.Fence.Status.FenceNumber, wordsOf(o.Fence.Status.Decision.Trigger))
	}
	o := opens("True", "Unknown")
	if o.Fence == nil || wordsOf(o.Fence.Status.Decision.Trigger) != "NodeCondition KernelDeadlock=True" {
		t.Fatalf("another failure: %+v", o)
	}
	o.Fence.Status.Phase, o.Fence.Status.Outcome = api.Finished, api.HealedBeforeFence
	text, err := json.Marshal(o.Fence)
	if err != nil {
		t.Fatal(err)
	}
	answers[fencePath] = string(text)
	for _, ready := range []string{"True", "Unknown"} {
		if o := opens("False", ready); o.Fence != nil {
			t.Errorf("Ready=%s: the aborted failure opens fence %d for %s", ready, o.Fence.Status.FenceNumber, wordsOf(o.Fence.Status.Decision.Trigger))
		}
	}
	for _, path := range []string{leasePath, ledgerPath} {
		answers[path] = strings.Replace(answers[path], "03:04:05", "03:04:15", 1)
	}
	if o := opens("False", "True"); o.Fence == nil || wordsOf(o.Fence.Status.Decision.Trigger) != "LeaseStill" {
		t.Errorf("another Lease that stands still: %+v", o)
	}
}

func opensFor(t api.Trigger) string {
	if t.NodeCondition != nil {
		return t.NodeCondition.Type
	}
	return string(t.Type)
}

// wrong is what speaks for a fence at a look of now.
func (g *Gate) wrong(t *testing.T, f *api.NodeFence) string {
	t.Helper()
	seen := observed.Look{Me: "me", Finalizer: true}
	if err := g.Look(t.Context(), f, &seen, g.Client.Clock().Elapsed()); err != nil {
		t.Fatal(err)
	}
	st, _ := fence.Decide(f, seen, g.Client.Clock().Now())
	var all []string
	for _, e := range st.Evidence {
		if e.Condition == "" {
			e.Condition = string(e.Type)
		}
		all = append(all, e.Condition)
	}
	return strings.Join(all, " ")
}
