package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// deletionWindow is what podsPerMinute counts in.
const deletionWindow = time.Minute

// Batch is which pods the release that was decided last deletes: the first
// status.release.batch of those whose budgets let them go.
func Batch(f *api.NodeFence, left *Left) []Pod {
	free, _ := permitted(ReleaseOf(f), left)
	return free[:min(len(free), int(f.Status.Release.Batch))]
}

// due is how many pods are to be deleted now. If there is nothing to do but wait,
// it has said why, and when to look next.
func (d *decision) due(left *Left) (n int, wait bool) {
	c, r := d.dec.Settings.Release, &d.st.Release
	free, held := permitted(c, left)
	if c.Taints() {
		return d.dueUnderTaint(left, len(free))
	}
	rate, again := d.quota()
	n = min(len(free), rate)
	if r.StartedAt == nil {
		return n, false
	}
	switch {
	case d.since(r.AskedAt) < Poll: // what was asked last has not been seen to act
		d.lookAfter(Poll)
	case n > 0 || len(left.Detach) > 0:
		return n, false
	case len(free) > 0:
		d.stay(api.PodsPerMinute, fmt.Sprintf("%d pods are left; podsPerMinute is %d, the next go at %s",
			len(free)+len(held), *c.PodsPerMinute, d.now.Add(again).UTC().Format(time.TimeOnly)), again)
	case len(held) > 0:
		d.stay(api.DisruptionBudget, fmt.Sprintf("%d pods are held: %s; %s", len(held), some(held), d.untilDeadline()), d.patience())
	default:
		d.stay(api.WaitingForRelease, "waiting for "+some(left.names()), d.patience())
	}
	if end := r.Deadline; end != nil && d.st.NextLook.After(end.Time) {
		d.lookAt(end.Time)
	}
	return 0, true
}

// dueUnderTaint is due where the out-of-service taint is set, and Kubernetes frees the rest.
func (d *decision) dueUnderTaint(left *Left, free int) (n int, wait bool) {
	r, node := &d.st.Release, d.seen.Node
	switch {
	case r.StartedAt == nil:
		return free, false
	case d.since(r.AskedAt) < Poll:
		d.lookAfter(Poll) // pods that are made anew at once, or a taint that is not seen yet
		return 0, true
	case free > 0 || !node.OutOfService && !node.OutOfServiceForeign:
		return free, false
	}
	if d.since(r.StartedAt) > Resync {
		d.tell(api.WaitingForRelease, "waiting for "+some(left.names()))
	}
	d.lookAfter(d.patience())
	return 0, true
}

// untilDeadline says what becomes of pods that can't be deleted.
func (d *decision) untilDeadline() string {
	then := "they stay bound to the machine, which stays off"
	if CutOnly(d.dec) {
		then = "they stay bound to the machine"
	}
	if d.owesPowerOn() {
		then = "the machine is switched on with them"
	}
	return "from " + d.st.Release.Deadline.UTC().Format(time.TimeOnly) + " on nothing more is deleted, and " + then
}

// plan says how the release begins.
func (d *decision) plan(left *Left, n int) string {
	if !d.dec.Settings.Release.Deletes() {
		return fmt.Sprintf("leaving %d pods to Kubernetes by the out-of-service taint, %d attachments to go", len(left.Delete), left.Attachments)
	}
	if n < len(left.Delete) {
		return fmt.Sprintf("force-deleting %d of %d pods for now, %d attachments to go", n, len(left.Delete), left.Attachments)
	}
	return fmt.Sprintf("force-deleting %d pods, %d attachments to go", n, left.Attachments)
}

// quota is how many deletions the rate leaves for now, and, if none, when it
// leaves some. A minute's count begins anew a whole minute after its last batch,
// so that no minute, however it is laid, has more than the rate. A batch that only
// frees attachments is none of them: it would put the next deletions off.
func (d *decision) quota() (int, time.Duration) {
	rate := d.dec.Settings.Release.PodsPerMinute
	if rate == nil {
		return int(^uint32(0) >> 1), 0
	}
	r := &d.st.Release
	wait := deletionWindow - d.since(r.BatchAt)
	if r.BatchAt == nil || wait <= 0 {
		r.InMinute = 0
		return int(*rate), 0
	}
	if n := *rate - r.InMinute; n > 0 {
		return int(n), 0
	}
	return 0, wait
}

// patience: look often at first, then less.
func (d *decision) patience() time.Duration {
	return min(max(Poll, d.since(d.st.Release.StartedAt)/2), 10*Poll)
}
