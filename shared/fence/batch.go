package fence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// permitted parts the pods that may be deleted from those that a disruption
// budget holds, and says in words which does. It reads a budget as the API
// server's eviction does, which decides again, pod by pod.
func permitted(c api.ReleaseSettings, left *Left) (free []Pod, held []string) {
	if !c.Deletes() {
		return nil, nil
	}
	if !c.RespectDisruptionBudgets {
		return left.Delete, nil
	}
	budgets := maps.Clone(left.Budgets)
	for _, p := range left.Delete {
		if why := spend(budgets, p); why != "" {
			held = append(held, "pod "+p.Namespace+"/"+p.Name+" by "+why)
			continue
		}
		free = append(free, p)
	}
	return free, held
}

// spend takes one disruption from the pod's budget, or says why it can't.
func spend(budgets map[string]Disruption, p Pod) string {
	switch len(p.Budgets) {
	case 0:
		return ""
	case 1:
	default:
		return "budgets " + strings.Join(p.Budgets, " and ") + ": Kubernetes evicts no pod that counts for two"
	}
	b := budgets[p.Budgets[0]]
	if !p.Ready && (b.UnreadyFree || b.Healthy >= b.Wanted && b.Wanted > 0) {
		return ""
	}
	if b.Allowed <= 0 {
		return fmt.Sprintf("budget %s: %d healthy, %d wanted, %d may go", p.Budgets[0], b.Healthy, b.Wanted, max(0, b.Allowed))
	}
	b.Allowed--
	budgets[p.Budgets[0]] = b
	return ""
}

// due is how many pods are to be deleted now. If there is nothing to do but wait,
// it has said why, and when to look next.
func (d *decision) due(left *Left) (n int, wait bool) {
	c, r := d.dec.Settings.Release, &d.st.Release
	free, held := permitted(c, left)
	if c.Taints() {
		if n := d.seen.Node; r.StartedAt == nil {
			return len(free), false
		} else if d.since(r.AskedAt) < Poll {
			d.lookAfter(Poll) // pods that are made anew at once, or a taint that is not seen yet
			return 0, true
		} else if len(free) > 0 || !n.OutOfService && !n.OutOfServiceForeign {
			return len(free), false
		}
		if d.since(r.StartedAt) > Resync {
			d.tell(api.WaitingForRelease, "waiting for "+some(left.names()))
		}
		d.lookAfter(d.patience())
		return 0, true
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

// untilDeadline says what becomes of pods that can't be deleted.
func (d *decision) untilDeadline() string {
	then := "they stay bound to the machine, which stays off"
	if d.cutOnly() {
		then = "they stay bound to the machine"
	}
	if d.owesPowerOn() {
		then = "the machine is switched on with them"
	}
	return "from " + d.st.Release.Deadline.UTC().Format(time.TimeOnly) + " on nothing more is deleted, and " + then
}

// unreleased says what is left at the deadline, and what has held it.
func (d *decision) unreleased(left *Left) string {
	r := d.st.Release
	msg := fmt.Sprintf("%d pods and %d attachments are left after %s", r.PodsLeft, r.AttachmentsLeft, d.dec.Settings.Release.Timeout.Duration)
	_, held := permitted(d.dec.Settings.Release, left)
	if len(held) > 0 {
		msg += "; held: " + some(held)
	}
	if names := left.names(); len(names) > 0 {
		msg += ": " + some(names)
	}
	return msg + "; going on"
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

// names are what is left, in words: volumes first, since they tell who is to be asked.
func (l *Left) names() []string {
	all := slices.Clone(l.Names)
	for _, p := range l.Delete {
		all = append(all, "pod "+p.Namespace+"/"+p.Name)
	}
	return all
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

// some names the first of many.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
