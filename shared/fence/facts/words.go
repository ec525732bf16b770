package facts

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// At is a time that long after now, as the API server keeps it.
func (d *Facts) At(after time.Duration) *api.Time { return d.Stamp(d.Now.Add(after)) }

// Time is now, as the API server keeps it.
func (d *Facts) Time() api.Time { return *d.At(0) }

// Stamp cuts to the microseconds that the API server keeps, so that what was
// saved and read again equals what was decided.
func (d *Facts) Stamp(t time.Time) *api.Time {
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
}

// Since is how long ago that was; longer than any limit if it never was.
func (d *Facts) Since(t *api.Time) time.Duration {
	if t == nil {
		return 1<<63 - 1 // never: older than any limit
	}
	return d.Now.Sub(t.Time)
}

// Within: not older than that, and not of a time that is still to come either. Where
// the API server's clock was set back, what was seen before is of unknown age (S3, S30).
func (d *Facts) Within(t *api.Time, age time.Duration) bool {
	return t != nil && observed.Fresh(t.Time, d.Now, age)
}

// FenceUID is the UID of the NodeFence.
func (d *Facts) FenceUID() types.UID { return types.UID(d.UID) }

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

// LastReasonIs reports whether the last sentence has one of the given reasons. The next words of the fence may depend
// on the last sentence. Actions follow from status.waitsFor, from looks, and from earlier actions.
func (d *Facts) LastReasonIs(reasons ...api.Reason) bool {
	return slices.Contains(reasons, d.Record.Reason)
}

// NoDeviceTouched is what such a fence says.
const NoDeviceTouched = "no new work is placed on this node, and no device is touched: its work stays with it until it is back, or a person confirms that the machine is off (spec.requests.confirmOff)"

// TaintMissing is what a drain says of a node that somebody has taken our taint off.
const TaintMissing = "our taint is not on the node, and is placed anew: until it is there the time of the drain does not count; "

// EndWords says how the fence ended.
func (d *Facts) EndWords() string {
	words := Outcomes[d.Record.Outcome]
	if r := d.Record.Drain; d.Record.Outcome == api.DrainTimedOut && r != nil && r.Left != "" {
		words += ": " + r.Left
	}
	return words
}

// Outcomes says each end in words.
var Outcomes = map[api.Reason]string{
	api.Recovered:           "the node is back, and nothing of ours is left on it",
	api.CutRefuted:          "the node is back under the boot ID that it had before its power was cut: the machine never was off, and two writers may have run; nothing of ours is left on it, and no fence goes by its devices until a person has looked and says so (kubectl fence trust NODE --reason …)",
	api.HealedBeforeFence:   "the node healed, and nothing of ours is left on it",
	api.Aborted:             "ended as asked, and nothing of ours is left on the node",
	api.DrainTimedOut:       "its node could not be drained within the policy's time, and nothing was cut (drain.onTimeout: GiveUp); nothing of ours is left on it",
	api.RequestExpired:      "the request grew old before it could be carried out; nothing of ours is left on the node",
	api.RequestFailed:       "the fence that was asked for failed; the node is healthy, and nothing of ours is left on it",
	api.PolicyDeleted:       "no policy selects the node any more, and nothing of ours is left on it",
	api.NodeGone:            "the Node object is gone",
	api.NodeDeleted:         "the machine stays off, and its Node object was deleted, as the policy says",
	api.MachineListedNoMore: "its deletion was asked for, and it is listed no more as a Machine that has failed or has no node",
	api.MachineNotDeleted:   "the Machine was not deleted; it is tried anew after the back-off",
	api.NodeReplaced:        "another Node object has this name",
}
