package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// acceptingFences is False while the ledger lets no fence at all begin.
const acceptingFences = "AcceptingFences"

// closedTo is why the ledger holds every fence that asks, whatever its policies say; nil if
// it does not. A person's brakes come first (S16), then the picture of the Leases (S15).
func closedTo(l *api.FenceLedger, now time.Time) *observed.Verdict {
	if why, message := Stopped(l); why != "" {
		return refuse(why, message, facts.Resync)
	}
	if v := pictureUsable(l.Status.Leases, now); v != nil {
		return v
	}
	return usCutOff(l, now)
}

// heldForAll is closedTo, and that the ledger can note no other storm: one that began
// unnoted would not hold its domain, nor cool down (S15).
func heldForAll(l *api.FenceLedger, now time.Time) *observed.Verdict {
	if v := closedTo(l, now); v != nil {
		return v
	}
	if words := storms(l); words != "" {
		return refuse(api.TooManyUnhealthy, words, askStorm)
	}
	return nil
}

// maxStorms bounds the list, as its schema does.
const maxStorms = 256

// storms says that there are as many as can be noted; empty if there are fewer.
func storms(l *api.FenceLedger) string {
	if n := len(l.Status.Storms); n >= maxStorms {
		return fmt.Sprintf("%d storms are under way or cool down, and no other can be noted", n)
	}
	return ""
}

// LedgerConditions are what the ledger says of itself: whether it accepts fences is the
// very question that Admit asks first. Nobody decides by it. They change with what holds
// and its numbers, and not with the time, as each write has the gates look again.
func LedgerConditions(l *api.FenceLedger, now time.Time) []metav1.Condition {
	all := slices.Clone(l.Status.Conditions)
	if v := heldForAll(l, now); v != nil {
		tell(&all, l.Generation, now, acceptingFences, false, v.Reason, v.Message)
	} else {
		tell(&all, l.Generation, now, acceptingFences, true, api.NothingHoldsAll, "no fence is held by the ledger itself; a policy, a budget or a node may hold one")
	}
	return all
}

// Stopped says why the ledger lets nothing new start and sends no further Off,
// whatever the policies say; empty if it doesn't.
func Stopped(l *api.FenceLedger) (api.Reason, string) {
	if l.Spec.Stop {
		return api.Stopped, strings.TrimSuffix("the ledger's stop switch is on: "+l.Spec.StopReason, ": ")
	}
	r := l.Status.Restored
	if r == nil || Confirmed(l.Spec.RestoreConfirmed, r) {
		if strange := l.NotUnderstood.Words("FenceLedger " + api.LedgerName); strange != "" {
			return api.PolicyNotUnderstood, strange
		}
		return "", ""
	}
	return api.StateWentBack, fmt.Sprintf("the API server's state went back in time: the ledger's resourceVersion was %s, and was %s at %s; a person must confirm (spec.restoreConfirmed of FenceLedger %s)",
		r.From, r.To, r.SeenAt.UTC().Format(time.RFC3339), api.LedgerName) // S16
}

// Confirmed: a person said so of this restore. A word about an earlier one may
// stand in what was restored.
func Confirmed(c *api.RestoreConfirmed, r *api.Restored) bool {
	return c != nil && c.By != "" && c.SeenAt.Time.Equal(r.SeenAt.Time)
}
