package fence

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func (d *decision) at(after time.Duration) *api.Time { return d.stamp(d.now.Add(after)) }

func (d *decision) time() api.Time { return *d.at(0) }

// stamp cuts to the microseconds that the API server keeps, so that what was
// saved and read again equals what was decided.
func (d *decision) stamp(t time.Time) *api.Time {
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
}

func (d *decision) since(t *api.Time) time.Duration {
	if t == nil {
		return 1<<63 - 1 // never: older than any limit
	}
	return d.now.Sub(t.Time)
}

// within: not older than that, and not of a time that is still to come either. Where
// the API server's clock was set back, what was seen before is of unknown age (S3, S30).
func (d *decision) within(t *api.Time, age time.Duration) bool {
	return t != nil && Fresh(t.Time, d.now, age)
}

// Fresh: a time is not older than an age, and does not lie ahead by more than two processes'
// clocks may differ. A time that lies ahead is of unknown age (S3, S30).
func Fresh(t, now time.Time, age time.Duration) bool {
	is := now.Sub(t)
	return is <= age && !ahead(t, now)
}

// ahead: the time is of a clock that was set back since.
func ahead(t, now time.Time) bool { return t.Sub(now) > clockSlack }

func (d *decision) fenceUID() types.UID { return types.UID(d.uid) }

// StampOf is a time as the API server keeps it: in UTC, to the microsecond.
func StampOf(t time.Time) api.Time {
	return metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
}

func roundWords(p *api.ActivitySettings, a *api.ActivityRecord) string {
	return fmt.Sprintf("%d of %d rounds done, %d failed, %d went wrong", a.Done, p.Rounds, a.Failed, a.Errored)
}

// PolicyNamed is a policy with the generation that is spoken of, if it is known.
func PolicyNamed(policy string, generation int64) string {
	if generation == 0 {
		return "policy " + policy
	}
	return fmt.Sprintf("policy %s (generation %d)", policy, generation)
}

// DecidingPolicy names the policy that decides, with its generation.
func DecidingPolicy(p api.ResolvedPolicy) string {
	return PolicyNamed(p.Policy.Name, p.Policy.Generation)
}

// ConflictWords says which two policies it is between, and what ends it.
func ConflictWords(p api.ResolvedPolicy) string {
	return fmt.Sprintf("policies %s and %s have the same precedence and both select this node: give one of them another spec.precedence, or selectors that do not both select it", p.Policy.Name, p.Settings.Conflict)
}
