package ask

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestNews: one Event for each change of the conditions that people and NodeHealthCheck go by, and
// none for a look that changes nothing, or only the words.
func TestNews(t *testing.T) {
	f := record(api.Pending, by("u"), nil)
	under := func(request func(*api.FenceRequest), f *api.NodeFence) func(*api.FenceRequest) {
		return func(r *api.FenceRequest) {
			request(r)
			if st := Decide(Seen{Request: r, Node: "a", Fence: f, Now: now}).Status; st != nil {
				r.Status = *st
			}
		}
	}
	refused := func(why api.Reason) func(*api.FenceRequest) {
		return func(r *api.FenceRequest) { r.Status = Refused(r, why, "no", now) }
	}
	for name, c := range map[string]struct {
		before, after func(*api.FenceRequest)
		want          *News
	}{
		"new, and the gate is asked":      {asIs, under(asIs, nil), &News{Reason: "RemediationStarted", Message: "the gate was asked, and has not answered yet"}},
		"the fence is open":               {under(asIs, nil), under(asIs, f), nil},
		"nothing":                         {under(asIs, f), under(asIs, f), nil},
		"there is a proof":                {under(asIs, f), under(asIs, record(api.Releasing, by("u"), proven)), nil},
		"released":                        {under(asIs, f), under(asIs, record(api.PoweringOn, by("u"), released)), &News{Reason: "RemediationFinished", Message: "the machine was proven off, and its work released"}},
		"released at the first look":      {asIs, under(asIs, record(api.PoweringOn, by("u"), released)), &News{Reason: "RemediationFinished", Message: "the machine was proven off, and its work released"}},
		"given up":                        {under(asIs, f), under(asIs, record(api.Failed, by("u"), nil)), &News{Reason: "RemediationStopped", Message: "WaitingForApproval: Failed, WaitingForApproval: waits", Warning: true}},
		"its node is gone":                {under(asIs, f), under(asIs, record(api.Finished, by("u"), outcome(api.NodeGone, cut))), &News{Reason: "RemediationStopped", Message: "RemediationFinishedNodeNotFound: Finished, WaitingForApproval: waits", Warning: true}},
		"refused":                         {under(asIs, nil), refused(api.NoPolicy), &News{Reason: "RemediationCannotStart", Message: "NoPolicy: no", Warning: true}},
		"refused at once":                 {asIs, refused(api.NoSuchNode), &News{Reason: "RemediationCannotStart", Message: "RemediationFinishedNodeNotFound: no", Warning: true}},
		"given up by NodeHealthCheck":     {under(asIs, f), under(timedOut, record(api.Pending, by("u"), aborting)), &News{Reason: "RemediationStopped", Message: "RemediationInterruptedByNHC: FenceRequest n/a was given up by NodeHealthCheck; Pending, WaitingForApproval: waits"}},
		"withdrawn before its fence":      {under(asIs, nil), refused(api.RequestWithdrawn), &News{Reason: "RemediationStopped", Message: "RequestWithdrawn: no"}},
		"the last word was said, as ever": {refused(api.NoPolicy), refused(api.NoPolicy), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := one(c.before), one(c.after)
			if d := cmp.Diff(c.want, NewsOf(&before.Status, &after.Status)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestNewsIsToldOnce: however often an object is looked at, each change is news once.
func TestNewsIsToldOnce(t *testing.T) {
	r := one(asIs)
	var told []string
	for i, f := range []*api.NodeFence{
		nil, nil, record(api.Pending, by("u"), nil), record(api.Fencing, by("u"), cut), record(api.Releasing, by("u"), proven),
		record(api.PoweringOn, by("u"), released), record(api.Recovering, by("u"), released), record(api.Finished, by("u"), outcome(api.Recovered, released)), nil,
	} {
		st := Decide(Seen{Request: r, Node: "a", Fence: f, Now: now.Add(time.Duration(i) * time.Second)}).Status
		if st == nil {
			continue
		}
		if n := NewsOf(&r.Status, st); n != nil {
			told = append(told, n.Reason)
		}
		r.Status = *st
	}
	if d := cmp.Diff([]string{Started, Finished}, told); d != "" {
		t.Error(d)
	}
}
