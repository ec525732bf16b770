package fence

import (
	"testing"
	"time"
)

// TestTheNumbersOfTheGateAreThePromises: each bound and time that is in no policy, with the
// promise that it keeps. Whoever changes one changes what was promised.
func TestTheNumbersOfTheGateAreThePromises(t *testing.T) {
	for promise, c := range map[string]struct{ is, want time.Duration }{
		"S14: a node that was cut a minute ago shows as not Ready, or its Lease stands still": {longAgo, time.Minute},
		"S15: a storm whose policy is gone cools down for five minutes":                       {goneCoolDown, 5 * time.Minute},
		"S19: a storm is asked about every ten seconds":                                       {askStorm, 10 * time.Second},
		"S19: a slot is asked for every three seconds":                                        {askConcurrent, 3 * time.Second},
		"S14: no rate has a longer period than a day":                                         {longestPeriod, 24 * time.Hour},
		"S27: a Machine that replaces a failed one waits ten minutes":                         {machineWait, 10 * time.Minute},
		"S27: and two hours at most":                                                          {machineWaits, 2 * time.Hour},
	} {
		if c.is != c.want {
			t.Errorf("%s: it is %s, and %s was promised", promise, c.is, c.want)
		}
	}
	for promise, c := range map[string]struct{ is, want int }{
		"S14: with so many slots in use no other is given, whatever the policies allow": {maxSlots, 1024},
		"S14: with so many fences between begin and end no other begins":                {maxUnderWay, 2048},
		"S15: with so many storms nothing begins anywhere":                              {maxStorms, 256},
		"S14: with more budgets than these a fence counts in all":                       {maxBudgets, 64},
		"S14: of each policy as many fences are kept as any rate allows":                {highestCount, 1000},
		"S14: no more fences of a day are kept than the ledger's schema takes":          {maxAdmitted, 2048},
	} {
		if c.is != c.want {
			t.Errorf("%s: it is %d, and %d was promised", promise, c.is, c.want)
		}
	}
}
