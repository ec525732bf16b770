package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// PolicyNamed is a policy with the generation that is spoken of, if it is known.
func PolicyNamed(policy string, generation int64) string {
	if generation == 0 {
		return "policy " + policy
	}
	return fmt.Sprintf("policy %s (generation %d)", policy, generation)
}

func DecidingPolicy(p api.ResolvedPolicy) string {
	return PolicyNamed(p.Policy.Name, p.Policy.Generation)
}

// ConflictWords says which two policies it is between, and what ends it.
func ConflictWords(p api.ResolvedPolicy) string {
	return fmt.Sprintf("policies %s and %s have the same precedence and both select this node: give one of them another spec.precedence, or selectors that do not both select it", p.Policy.Name, p.Settings.Conflict)
}
