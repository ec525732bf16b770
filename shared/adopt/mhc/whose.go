package mhc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Leader is the Lease of the controller that the objects of a group are written for. That of Cluster
// API's is not looked at: it says nothing of who answers an object (Whose).
type Leader struct{ Group, Namespace, Name string }

// Leaders has an element for each group. The Lease is what the controller's own manifests have.
var Leaders = []Leader{
	{OpenShift, openshiftNamespace, "cluster-api-provider-healthcheck-leader"},
	{Group: ClusterAPI},
}

// openshiftNamespace is where OpenShift has its Machines, its MachineHealthChecks and their controller.
const openshiftNamespace = "openshift-machine-api"

// Counts tells whether objects of its namespace are answered, by the setting. Whoever writes such an
// object has nodes fenced, so no other namespace than OpenShift's own counts unless it is named (S20:
// who may have a node fenced).
func (c *Check) Counts(namespaces []string) bool {
	if len(namespaces) == 0 {
		return c.Group() == OpenShift && c.Namespace == openshiftNamespace
	}
	return slices.Contains(namespaces, c.Namespace)
}

func (l Leader) String() string { return l.Namespace + "/" + l.Name }

// Key is the key of what is kept of it between two looks.
func (l Leader) Key() string { return l.Namespace + "." + l.Name }

// standsFor is how long a Lease must have been seen to stand still, beyond the time for which it was
// taken, until its holder counts as gone.
const standsFor = time.Minute

// unsaid is the time for which a Lease is taken where nothing says it: where there is none, or it has
// none. It is longer than any that OpenShift takes its own for.
const unsaid = 5 * time.Minute

// absent is what is kept of a Lease that is not there.
const absent = "none"

// Moves tells whether a controller may be alive, and what is to be kept of its Lease until the next
// look. A Lease is dead once it has been seen to stand still for its own duration and a minute, by
// what was seen of it at two looks, and never by comparing the time that its holder wrote with a
// clock (S30: by what is observed). One that is seen for the first time moves. So does one that is not
// there: it may be about to be created, as at an upgrade.
func Moves(kept string, l *coordinationv1.Lease, now time.Time) (alive bool, keep string) {
	is := absent
	if l != nil {
		is = mark(l)
	}
	since, was, _ := strings.Cut(kept, " ")
	at, err := time.Parse(time.RFC3339, since)
	if err != nil || was != is || at.After(now) {
		return true, now.UTC().Format(time.RFC3339) + " " + is
	}
	wait := standsFor + unsaid
	if l != nil && l.Spec.LeaseDurationSeconds != nil && *l.Spec.LeaseDurationSeconds > 0 {
		wait = standsFor + time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second
	}
	return now.Sub(at) < wait, kept
}

// mark is what changes when a Lease is renewed or taken over.
func mark(l *coordinationv1.Lease) string {
	text := string(l.UID)
	if l.Spec.HolderIdentity != nil {
		text += " " + *l.Spec.HolderIdentity
	}
	if l.Spec.RenewTime != nil {
		text += " " + l.Spec.RenewTime.UTC().Format(time.RFC3339Nano)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// unnoticed is how old an object must be until it is clear that Cluster API leaves it alone.
const unnoticed = 2 * time.Minute

// Whose says why a MachineHealthCheck is left to its own controller; empty if nodefence answers it.
//
// OpenShift's controller does nothing else, so its objects are nodefence's where it does not run.
// Cluster API's also makes and deletes Machines, and runs for ever. It leaves an object to others only
// if it was started with --watch-filter, and the object has another value of that label. So only an
// object whose label says nodefence is answered, and only if Cluster API has never written to it: a
// controller without that flag would.
func (c *Check) Whose(l Leader, alive bool, now time.Time) string {
	if c.Group() != ClusterAPI {
		if alive {
			return fmt.Sprintf("its own controller may be alive: Lease %s moves, or was not seen to stand still for long enough", l)
		}
		return ""
	}
	switch {
	case c.Labels[watchFilter] != ours:
		return fmt.Sprintf("Cluster API's controller handles it. Name a FenceRequestTemplate in it, or run Cluster API with --watch-filter and label it %s=%s", watchFilter, ours)
	case c.handled():
		return "Cluster API's controller has written to its status: run it with --watch-filter, and create this object again"
	case now.Sub(c.CreationTimestamp.Time) < unnoticed:
		return fmt.Sprintf("it is new, and Cluster API's controller may be about to handle it: that shows after %s", unnoticed)
	}
	return ""
}

// handled: Cluster API writes this at its first look.
func (c *Check) handled() bool {
	if n, _ := c.Status["observedGeneration"].(float64); n > 0 {
		return true
	}
	deprecated, _ := c.Status["v1beta2"].(map[string]any)
	for _, where := range []map[string]any{c.Status, deprecated} {
		all, _ := where["conditions"].([]any)
		for _, o := range all {
			if field(o, "type") == "Paused" {
				return true
			}
		}
	}
	return false
}
