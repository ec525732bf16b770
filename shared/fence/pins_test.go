package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestConstantsAreThePromises: each time that is in no policy, with the promise that it
// keeps. Whoever changes one changes what was promised.
func TestConstantsAreThePromises(t *testing.T) {
	usually := fencetest.Spec()
	for promise, c := range map[string]struct{ is, want time.Duration }{
		"S1: the two reads of off are a settle apart":                                         {facts.Settle, 2 * time.Second},
		"S3: a release rests on a read of off of the last half minute":                        {facts.ProofValidity, 30 * time.Second},
		"S3: pods are deleted on a dump's message of the last five seconds":                   {facts.DumpValidity, 5 * time.Second},
		"S1: two messages of a dump are five seconds apart":                                   {fence.DumpApart, 5 * time.Second},
		"S4: an action on Kubernetes is begun within ten seconds or never":                    {facts.ActWithin, 10 * time.Second},
		"S9: an Off or On follows a read that one lost wake-up may have delayed":              {facts.ReadValidity(&usually.Decision), 5*time.Second + 35*time.Second},
		"S14: a slot counts against others for longer than its fence goes on with it":         {facts.ReservationKept, 65 * time.Second},
		"S15: a still Lease is in the picture a second late at most":                          {facts.PictureLag, time.Second},
		"S17: a yes is valid for a minute":                                                    {facts.DecisionValidity, time.Minute},
		"S17: a request is carried out within a quarter of an hour or never":                  {api.RequestValidity, 15 * time.Minute},
		"S19: a lost event delays a fence by half a minute at most":                           {facts.Resync, 30 * time.Second},
		"S19: a lost reply delays it by five seconds":                                         {facts.Handover, 5 * time.Second},
		"S19: what we wait to see is looked at every second":                                  {facts.Poll, time.Second},
		"S19: a picture of the Leases is waited for in steps of five seconds":                 {facts.AskPicture, 5 * time.Second},
		"S25: tries that never end are five minutes apart at most":                            {facts.SlowRetry, 5 * time.Minute},
		"S25: a machine on its way off is waited for ten minutes before that is a failed try": {facts.StopTakes, 10 * time.Minute},
		"S26: a cut counts against the node's limit for a day":                                {facts.CutsCount, 24 * time.Hour},
		"S24: deletions a minute are counted over a minute":                                   {facts.DeletionWindow, time.Minute},
		"S5: a device that declares no lead may read off for five seconds before it is":       {facts.DefaultLead, 5 * time.Second},
		"S5: and so may one whose binding does not say":                                       {facts.Lead(&api.Binding{}), 5 * time.Second},
		"S7: a device call takes twenty seconds at most, unless nodefence is set otherwise":   {(&api.Decision{}).CallLimit(), 20 * time.Second},
		"S15: a Lease is believed to be renewed each 25 seconds at least":                     {facts.SlowestRenewal, 25 * time.Second},
		"S25: a step is tried again after five seconds, unless the policy says otherwise":     {(*api.Power)(nil).Settings().RetryInterval.Duration, 5 * time.Second},
		"a device that refuses the account three times is asked again after five minutes":     {facts.DeniedPause, 5 * time.Minute},
		"S30: two processes' clocks lie two seconds apart at most":                            {observed.ClockSlack, 2 * time.Second},
		"S9: a machine of which only its Lease speaks is read every three seconds":            {facts.ProbePoll, 3 * time.Second},
		"a Machine shows within a resync and a quarter of a minute whether it was remediated": {facts.MachineShows, 45 * time.Second},
		"a check's Job is looked at every two seconds":                                        {facts.CheckPoll, 2 * time.Second},
		"a check has half a minute beyond its own time":                                       {facts.CheckGrace, 30 * time.Second},
	} {
		if c.is != c.want {
			t.Errorf("%s: it is %s, and %s was promised", promise, c.is, c.want)
		}
	}
	for promise, c := range map[string]struct{ is, want int }{
		"S26: the last ten fences are remembered":                                        {facts.MaxPast, 10},
		"S25: a step is tried three times, unless the policy says otherwise":             {int((*api.Power)(nil).Settings().Attempts), 3},
		"S26: a flow begins anew twice, unless the policy says otherwise":                {int((*api.Power)(nil).Settings().Restarts), 2},
		"S26: a node is cut three times a day, unless the policy says otherwise":         {int((*api.PerNode)(nil).Settings().CutsPerDay), 3},
		"a device that refuses the account is asked three times before it is left alone": {facts.DeniedTries, 3},
		"S28: the last 64 sentences of the history are kept":                             {facts.MaxHistory, 64},
	} {
		if c.is != c.want {
			t.Errorf("%s: it is %d, and %d was promised", promise, c.is, c.want)
		}
	}
}
