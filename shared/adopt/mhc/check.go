package mhc

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// The groups of the two kinds.
const (
	OpenShift  = "machine.openshift.io"
	ClusterAPI = "cluster.x-k8s.io"
)

// Check is what is used of a MachineHealthCheck, in whichever version it was read.
type Check struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// Selector chooses its Machines, in its own namespace. A cluster's name is one of its labels.
	Selector api.LabelSelector
	// Conditions are those of a node that make its Machine unhealthy; any one of them suffices.
	Conditions []api.UnhealthyCondition
	// Limit is up to how many unhealthy Machines any is remediated.
	Limit Limit
	// Startup is how long a Machine may be without a node; zero if that is not looked at.
	Startup time.Duration
	// Status is its status, as the API server sent it.
	Status map[string]any
}

// Group is the group of its API.
func (c *Check) Group() string {
	group, _, _ := strings.Cut(c.APIVersion, "/")
	return group
}

// String is its kind, its namespace and its name.
func (c *Check) String() string { return Prefix + c.Namespace + "/" + c.Name }

// Prefix is how the name begins under which a MachineHealthCheck pauses its policy.
const Prefix = "MachineHealthCheck "

// From is what a FencePolicy says of the object from which it was made.
func (c *Check) From() string { return c.Group() + "/" + c.Namespace + "/" + c.Name }

// The longest name of the generated policy is that of a label's key, and ends with a part of a hash.
const (
	longestName = 63
	hashed      = 8
)

// PolicyName is the name of the FencePolicy that is made from it. No other MachineHealthCheck has
// the same, of whatever group.
func (c *Check) PolicyName() string {
	sum := sha256.Sum256([]byte(c.From()))
	name := "mhc-" + c.Namespace + "-" + c.Name
	name = strings.TrimRight(name[:min(len(name), longestName-hashed-1)], ".-")
	return name + "-" + hex.EncodeToString(sum[:])[:hashed]
}

// LabelPrefix begins the keys of the labels that mark the Nodes of the Machines of a
// MachineHealthCheck. The rest of the key is the name of its FencePolicy, and the value LabelValue.
const (
	LabelPrefix = "machine-health-check.nodefence.io/"
	LabelValue  = "true"
)

// Label is the key of the label of the Nodes that its policy selects.
func (c *Check) Label() string { return LabelPrefix + c.PolicyName() }

// The annotations of a MachineHealthCheck that count.
const (
	// remediation chooses, on OpenShift, remediation by power.
	remediation  = "machine.openshift.io/remediation-strategy"
	byBareMetal  = "external-baremetal"
	watchFilter  = "cluster.x-k8s.io/watch-filter"
	ours         = "nodefence"
	clusterLabel = "cluster.x-k8s.io/cluster-name"
)

// Paused tells whether its annotation holds all that follows from it.
func (c *Check) Paused() bool {
	_, is := c.Annotations[policy.Paused]
	return is
}

// byPower tells whether its Machines are switched off and on, and not deleted.
func (c *Check) byPower() bool {
	return c.Group() == OpenShift && c.Annotations[remediation] == byBareMetal
}
