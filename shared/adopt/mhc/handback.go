package mhc

import (
	"slices"
	"strings"
	"time"
)

// ownerRemediated is the condition of a Machine by which Cluster API asks its owner, a MachineSet or a
// control plane, to replace it. waiting is its reason.
const ownerRemediated, waiting = "OwnerRemediated", "WaitingForRemediation"

// HandBack are the conditions of a Machine of Cluster API with which its owner replaces it, in the form of
// its version, and whether they differ from has. If the owner is asked already, it is not asked again: it
// writes there how far it is.
func HandBack(apiVersion string, has []any, message string, now time.Time) ([]any, bool) {
	at := slices.IndexFunc(has, func(o any) bool { return field(o, "type") == ownerRemediated })
	if at >= 0 && field(has[at], "status") == "False" {
		return has, false
	}
	is := map[string]any{"type": ownerRemediated, "status": "False", "reason": waiting, "message": message, "lastTransitionTime": now.UTC().Format(time.RFC3339)}
	if !strings.HasSuffix(apiVersion, "/v1beta2") {
		is["severity"] = "Warning"
	}
	all := slices.Clone(has)
	if at < 0 {
		return append(all, is), true
	}
	all[at] = is
	return all, true
}
