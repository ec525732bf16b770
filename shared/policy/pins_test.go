package policy_test

import (
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/policy"
)

// TestTheNumbersOfPoliciesAreThePromises: each time that no policy sets. A change of such a
// time changes a promise.
func TestTheNumbersOfPoliciesAreThePromises(t *testing.T) {
	for promise, c := range map[string]struct{ is, want time.Duration }{
		"a pause window is looked for two weeks ahead": {policy.Furthest, 14 * 24 * time.Hour},
	} {
		if c.is != c.want {
			t.Errorf("%s: it is %s, and %s was promised", promise, c.is, c.want)
		}
	}
}
