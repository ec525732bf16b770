package facts

import (
	"fmt"
	"maps"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Unreleased says what is left at the deadline, and what has held it.
func (d *Facts) Unreleased(left *observed.Left) string {
	r := d.Record.Release
	msg := fmt.Sprintf("%d pods and %d attachments are left after %s", r.PodsLeft, r.AttachmentsLeft, d.Decision.Settings.Release.Timeout.Duration)
	_, held := Permitted(d.Decision.Settings.Release, left)
	if len(held) > 0 {
		msg += "; held: " + observed.Some(held)
	}
	if names := left.Words(); len(names) > 0 {
		msg += ": " + observed.Some(names)
	}
	return msg + "; going on"
}

// Permitted parts the pods that may be deleted from those that a disruption
// budget holds, and says in words which does. It reads a budget as the API
// server's eviction does, which decides again, pod by pod.
func Permitted(c api.ReleaseSettings, left *observed.Left) (free []observed.Pod, held []string) {
	if !c.Deletes() {
		return nil, nil
	}
	if !c.RespectDisruptionBudgets {
		return left.Delete, nil
	}
	budgets := maps.Clone(left.Budgets)
	for _, p := range left.Delete {
		why, spends := holds(budgets, p)
		if why != "" {
			held = append(held, "pod "+p.Namespace+"/"+p.Name+" by "+why)
			continue
		}
		if spends {
			b := budgets[p.Budgets[0]]
			b.Allowed--
			budgets[p.Budgets[0]] = b
		}
		free = append(free, p)
	}
	return free, held
}

// holds says which budget holds the pod, if one does, and else whether it takes a disruption
// from its budget.
func holds(budgets map[string]observed.Disruption, p observed.Pod) (why string, spends bool) {
	switch len(p.Budgets) {
	case 0:
		return "", false
	case 1:
	default:
		return "budgets " + strings.Join(p.Budgets, " and ") + ": Kubernetes evicts no pod that counts for two", false
	}
	b := budgets[p.Budgets[0]]
	if !p.Ready && (b.UnreadyFree || b.Healthy >= b.Wanted && b.Wanted > 0) {
		return "", false
	}
	if b.Allowed <= 0 {
		return fmt.Sprintf("budget %s: %d healthy, %d wanted, %d may go", p.Budgets[0], b.Healthy, b.Wanted, max(0, b.Allowed)), false
	}
	return "", true
}

// DeletionWindow is what podsPerMinute counts in.
const DeletionWindow = time.Minute

// Batch is which pods the release that was decided last deletes: the first
// status.release.batch of those whose budgets let them go.
func Batch(f *api.NodeFence, left *observed.Left) []observed.Pod {
	free, _ := Permitted(ReleaseOf(f), left)
	return free[:min(len(free), int(f.Status.Release.Batch))]
}

// UntilDeadline says what becomes of pods that can't be deleted.
func (d *Facts) UntilDeadline() string {
	then := "they stay bound to the machine, which stays off"
	if CutOnly(d.Decision) {
		then = "they stay bound to the machine"
	}
	if d.OwesPowerOn() {
		then = "the machine is switched on with them"
	}
	return "from " + d.Record.Release.Deadline.UTC().Format(time.TimeOnly) + " on nothing more is deleted, and " + then
}

// Plan says how the release begins.
func (d *Facts) Plan(left *observed.Left, n int) string {
	if !d.Decision.Settings.Release.Deletes() {
		return fmt.Sprintf("leaving %d pods to Kubernetes by the out-of-service taint, %d attachments to go", len(left.Delete), left.Attachments)
	}
	if n < len(left.Delete) {
		return fmt.Sprintf("force-deleting %d of %d pods for now, %d attachments to go", n, len(left.Delete), left.Attachments)
	}
	return fmt.Sprintf("force-deleting %d pods, %d attachments to go", n, left.Attachments)
}

// Patience: look often at first, then less.
func (d *Facts) Patience() time.Duration {
	return min(max(Poll, d.Since(d.Record.Release.StartedAt)/2), 10*Poll)
}

// LeftBehind says what a release that timed out has not freed, in the words in which it was
// told, as long as they are the last.
func (d *Facts) LeftBehind() string {
	if d.LastReasonIs(api.ReleaseTimedOut) {
		return d.Record.Message
	}
	msg := "the release ended before all was free"
	if r := d.Record.Release; r.PodsLeft+r.AttachmentsLeft > 0 {
		msg += fmt.Sprintf(": %d pods and %d attachments are left", r.PodsLeft, r.AttachmentsLeft)
	}
	return msg
}
