package admission_test

import (
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
)

// TestTheNumbersOfTheGateAreThePromises: each bound and time that is in no policy, with the
// promise that it keeps. Whoever changes one changes what was promised.
func TestTheNumbersOfTheGateAreThePromises(t *testing.T) {
	for promise, c := range map[string]struct{ is, want time.Duration }{
		"S14: a node that was cut a minute ago shows as not Ready, or its Lease stands still": {admission.LongAgo, time.Minute},
		"S15: a storm whose policy is gone cools down for five minutes":                       {admission.GoneCoolDown, 5 * time.Minute},
		"S19: a storm is asked about every ten seconds":                                       {admission.AskStorm, 10 * time.Second},
		"S19: a slot is asked for every twenty seconds":                                       {admission.AskConcurrent, 20 * time.Second},
		"S14: no rate has a longer period than a day":                                         {admission.LongestPeriod, 24 * time.Hour},
		"S27: a Machine that replaces a failed one waits ten minutes":                         {admission.MachineWait, 10 * time.Minute},
		"S27: and two hours at most":                                                          {admission.MachineWaits, 2 * time.Hour},
	} {
		if c.is != c.want {
			t.Errorf("%s: it is %s, and %s was promised", promise, c.is, c.want)
		}
	}
	for promise, c := range map[string]struct{ is, want int }{
		"S14: with so many slots in use no other is given, whatever the policies allow": {admission.MaxSlots, 1024},
		"S14: with so many fences between begin and end no other begins":                {admission.MaxUnderWay, 2048},
		"S15: with so many storms nothing begins anywhere":                              {admission.MaxStorms, 256},
		"S14: with more budgets than these a fence counts in all":                       {admission.MaxBudgets, 64},
		"S14: of each policy as many fences are kept as any rate allows":                {admission.HighestCount, 1000},
		"S14: no more fences of a day are kept than the ledger's schema takes":          {admission.MaxAdmitted, 2048},
	} {
		if c.is != c.want {
			t.Errorf("%s: it is %d, and %d was promised", promise, c.is, c.want)
		}
	}
}
