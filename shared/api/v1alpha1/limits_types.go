package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Limits bound how much nodefence fences at once, over all nodes that the policy selects. A
// FenceBudget, in contrast, keeps a set of nodes available.
type Limits struct {
	// maxUnhealthy is the most unhealthy nodes with which a fence may still begin: it
	// begins while unhealthy <= maxUnhealthy. It is a number from 0 to 1000000, or a
	// percentage from 0% to 100%; 40% by default. A percentage is rounded down, but is at
	// least one unless it is 0%; 0 and 0% are none.
	// +kubebuilder:default="40%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 && int(self) <= 1000000 : string(self).matches('^(100|[0-9]{1,2})%$')",message="limits.maxUnhealthy must be a number of nodes from 0 to 1000000, or a percentage from 0% to 100%"
	// +optional
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
	// maxConcurrent is how many nodes may be between reservation and release at once, from 1 to
	// 1000; 1 by default. A node still counts if its Node object is deleted, or relabelled,
	// meanwhile.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`
	// maxRate is how many fences may begin in a time. A fence counts by the labels that the node
	// had when the fence was admitted, even if the Node object has changed or is gone. Off unless
	// set.
	// +optional
	MaxRate *Rate `json:"maxRate,omitempty"`
	// stormCoolDown is how long nothing begins after a storm (more unhealthy nodes than
	// maxUnhealthy) has ended, from 0s to 24h; 5m by default.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) <= duration('24h')",message="limits.stormCoolDown must be between 0s and 24h"
	// +optional
	StormCoolDown *Duration `json:"stormCoolDown,omitempty"`
	// perNode bounds how often one machine's power is cut.
	// +kubebuilder:default={}
	// +optional
	PerNode *PerNode `json:"perNode,omitempty"`
	// perDomain are limits of a failure domain, such as a zone. They hold in addition to those
	// above, which count over all domains. Off unless set.
	// +optional
	PerDomain *DomainLimits `json:"perDomain,omitempty"`
}

// DomainLimits hold in addition to the totals, over the nodes that share the failed node's value
// of a label. A storm in one domain does not stop the others.
// +kubebuilder:validation:XValidation:rule="has(self.maxUnhealthy) || has(self.maxConcurrent)",message="limits.perDomain needs a limit: write maxUnhealthy, maxConcurrent, or both"
type DomainLimits struct {
	// topologyKey is the node label that tells domains apart, such as
	// topology.kubernetes.io/zone: at most 316 letters. Nodes without it are a domain of
	// their own.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/hostname'",message="limits.perDomain.topologyKey kubernetes.io/hostname makes each node a domain of its own, which limits nothing: write a zone's or a rack's label"
	// +required
	TopologyKey string `json:"topologyKey,omitempty"`
	// maxUnhealthy is the most unhealthy nodes of one domain with which a fence may still
	// begin there: a number from 0 to 1000000, or a percentage from 0% to 100% of its
	// nodes, rounded as limits.maxUnhealthy is. No limit unless set.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 && int(self) <= 1000000 : string(self).matches('^(100|[0-9]{1,2})%$')",message="limits.perDomain.maxUnhealthy must be a number of nodes from 0 to 1000000, or a percentage from 0% to 100%"
	// +optional
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
	// maxConcurrent is how many nodes of one domain may be between reservation and release
	// at once, from 1 to 1000. No limit unless set.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`
}

// Rate is so many fences in a time.
type Rate struct {
	// count is how many fences may begin in the period, from 1 to 1000.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +required
	Count int32 `json:"count,omitempty"`
	// period is the time over which they are counted, from 1s to 24h.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="limits.maxRate.period must be between 1s and 24h"
	// +required
	Period Duration `json:"period"`
}
