package admission

import (
	"fmt"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Stopped says why the ledger lets nothing new start and sends no further Off,
// whatever the policies say; empty if it doesn't.
func Stopped(l *api.FenceLedger) (api.Reason, string) {
	if l.Spec.Stop {
		return api.Stopped, strings.TrimSuffix("the ledger's stop switch is on: "+l.Spec.StopReason, ": ")
	}
	r := l.Status.Restored
	if r == nil || confirmed(l.Spec.RestoreConfirmed, r) {
		if strange := l.NotUnderstood.Words("FenceLedger " + api.LedgerName); strange != "" {
			return api.PolicyNotUnderstood, strange
		}
		return "", ""
	}
	return api.StateWentBack, fmt.Sprintf("the API server's state went back in time: the ledger's resourceVersion was %s, and was %s at %s; a person must confirm (spec.restoreConfirmed of FenceLedger %s)",
		r.From, r.To, r.SeenAt.UTC().Format(time.RFC3339), api.LedgerName) // S16
}

// confirmed: a person said so of this restore. A word about an earlier one may
// stand in what was restored.
func confirmed(c *api.RestoreConfirmed, r *api.Restored) bool {
	return c != nil && c.By != "" && c.SeenAt.Time.Equal(r.SeenAt.Time)
}
