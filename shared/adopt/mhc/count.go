package mhc

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// Count is what its controller counts, in the same way.
type Count struct {
	// Expected are all Machines that count, and Healthy those of them that are healthy.
	Expected, Healthy int
	// From and To are the fewest and the most unhealthy ones with which one is remediated.
	From, To int
	// Names are the Machines that count, by name.
	Names []string
}

// externalHost is how OpenShift marks a Machine whose host is being switched off and on.
const externalHost = "host.metal3.io/external-remediation"

// Count counts its Machines. Cluster API leaves those out that are to be left alone. A Machine is
// healthy if it has a node none of whose conditions is one of its own, for however short a time;
// so Machines that are starting, or being deleted, are not.
func (c *Check) Count(all []Target) (n Count) {
	for _, t := range all {
		if c.Group() == ClusterAPI && leftAlone(t.Machine) {
			continue
		}
		n.Expected++
		n.Names = append(n.Names, t.Machine.Name)
		if c.healthy(t) {
			n.Healthy++
		}
	}
	n.From, n.To = c.Limit.Of(n.Expected)
	return n
}

func (c *Check) healthy(t Target) bool {
	m := t.Machine
	_, external := m.Annotations[externalHost]
	_, asked := m.Annotations[policy.AskRemediation]
	if t.Node == nil || m.DeletionTimestamp != nil || m.Status.Phase == "Failed" || external || asked && c.Group() == ClusterAPI {
		return false
	}
	return !slices.ContainsFunc(c.Conditions, func(is api.UnhealthyCondition) bool {
		return slices.ContainsFunc(t.Node.Status.Conditions, func(has corev1.NodeCondition) bool {
			return string(has.Type) == is.Type && string(has.Status) == is.Status
		})
	})
}

// Unhealthy are those that are not healthy.
func (n Count) Unhealthy() int { return n.Expected - n.Healthy }

// Allowed tells whether a Machine may be remediated: with exactly as many unhealthy ones as the limit
// says, it may.
func (n Count) Allowed() bool { return n.From <= n.Unhealthy() && n.Unhealthy() <= n.To }

// Further is how many more Machines may become unhealthy before none is remediated any more.
func (n Count) Further() int {
	if !n.Allowed() {
		return 0
	}
	return n.To - n.Unhealthy()
}

// TooMany says why none is remediated.
func (c *Check) TooMany(n Count) string {
	return fmt.Sprintf("no Machine is remediated: %d of %d Machines are unhealthy or have no node yet, and the limit is %s", n.Unhealthy(), n.Expected, c.Limit)
}

func groupOf(apiVersion string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group
}
