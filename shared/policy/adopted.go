package policy

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// What is on the FencePolicies that the function policystatus makes from objects of other projects.
const (
	// AdoptedLabel is on all of them.
	AdoptedLabel = "nodefence.io/adopted-from"
	// ComputedAt is when the policy was last compared with its object, by the API server's time.
	ComputedAt = "nodefence.io/computed-at"
)

// ComputedFor is how long such a policy stands by itself. Its limit is a number that was right when it
// was computed: an older one may let more through than its object allows.
const ComputedFor = 5 * time.Minute

// Pauses are the names of those that pause a policy now. An adopted policy that nobody keeps up to date
// is paused by that.
func Pauses(p *api.FencePolicy, now time.Time) []string {
	if _, is := p.Labels[AdoptedLabel]; !is || Stamp(p.Annotations[ComputedAt]).Within(ComputedFor, now) {
		return p.Spec.PauseRequests
	}
	return append(slices.Clone(p.Spec.PauseRequests), "the age of annotation "+ComputedAt+": policystatus keeps the policy up to date no more; see that it runs with NODEFENCE_ADOPT, or delete the policy, or take label "+AdoptedLabel+" off it")
}

// Stamp is a time as the annotation ComputedAt has it.
type Stamp string

// Within tells whether it is not older than this. One that is ahead by more is not believed.
func (s Stamp) Within(within time.Duration, now time.Time) bool {
	t, err := time.Parse(time.RFC3339, string(s))
	return err == nil && now.Sub(t).Abs() <= within
}
