package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ResolvedPolicy is the outcome of all policies that select a node.
type ResolvedPolicy struct {
	// Policy is the deciding policy.
	Policy PolicyRef `json:"policy"`
	// Settings are what it says, with every default in its place.
	Settings Settings `json:"settings"`
	// Limits are those of every policy that selects the node; all must hold.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Limits []ScopedLimits `json:"limits"`
}

// PolicyRef is a policy as it was when it was resolved.
type PolicyRef struct {
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
}

// Settings are what the deciding policy says of one node's fence.
type Settings struct {
	// Conflict names the policy of equal precedence, if there is one; then
	// nothing is done.
	// +optional
	Conflict string `json:"conflict,omitempty"`
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	UnhealthyConditions []ConditionSetting `json:"unhealthyConditions"`
	// +optional
	EarlyProbe *ProbeSetting `json:"earlyProbe,omitempty"`
	Action     FenceAction   `json:"action"`
	Mode       Mode          `json:"mode"`
	// +optional
	ApprovalTimeout metav1.Duration `json:"approvalTimeout,omitempty"`
	// +optional
	ActivityChecks *ActivitySettings `json:"activityChecks,omitempty"`
	// +optional
	StorageCheck *StorageSettings `json:"storageCheck,omitempty"`
	// +optional
	Kdump *KdumpSettings `json:"kdump,omitempty"`
	// Excluded says why this node is not to be fenced under this policy, if it is not.
	// +optional
	Excluded string `json:"excluded,omitempty"`
	// +optional
	ControlPlane ControlPlaneSetting `json:"controlPlane,omitzero"`
	Power        PowerSettings       `json:"power"`
	Release      ReleaseSettings     `json:"release"`
	Recovery     RecoverySettings    `json:"recovery"`
	// perNode is the strictest of all policies that select the node.
	PerNode PerNodeSettings `json:"perNode"`
}

// ConditionSetting is a node condition that makes the node unhealthy.
type ConditionSetting struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	// Duration is how long it must have held.
	Duration metav1.Duration `json:"duration"`
}

// ControlPlaneSetting says whether a node of the control plane, or of etcd, may be fenced.
type ControlPlaneSetting struct {
	// +optional
	Fence ControlPlaneRule `json:"fence,omitempty"`
	// +kubebuilder:validation:MaxItems=9
	// +listType=atomic
	// +optional
	EtcdNodeNames []string `json:"etcdNodeNames,omitempty"`
}

// ProbeSetting is a Lease that stands still, as early evidence.
type ProbeSetting struct {
	LeaseStillDuration metav1.Duration `json:"leaseStillDuration"`
}

// ScopedLimits are one policy's limits with the nodes that they count over.
type ScopedLimits struct {
	Policy string `json:"policy"`
	// Generation is the policy's.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// MaxUnhealthy of the nodes that the selector chooses; a percentage as it was written.
	MaxUnhealthy intstr.IntOrString `json:"maxUnhealthy"`
	// MaxConcurrent over all nodes that the selector chooses.
	MaxConcurrent int32 `json:"maxConcurrent"`
	// +optional
	MaxRate *ResolvedRate `json:"maxRate,omitempty"`
	// +optional
	StormCoolDown metav1.Duration `json:"stormCoolDown,omitzero"`
	// PerDomain holds besides, over the nodes that share the node's value of a label.
	// +optional
	PerDomain *ResolvedDomain `json:"perDomain,omitempty"`
	// SkipFrom is the percentage of unhealthy nodes from which nothing begins, as
	// ConfigMap fence-policy-fence-limit has it; then it is the only limit here.
	// +optional
	SkipFrom int32 `json:"skipFrom,omitempty"`
}

// ResolvedDomain are the limits of one domain. What the policy leaves out is as wide as
// it can be.
type ResolvedDomain struct {
	TopologyKey   string             `json:"topologyKey"`
	MaxUnhealthy  intstr.IntOrString `json:"maxUnhealthy"`
	MaxConcurrent int32              `json:"maxConcurrent"`
}

// ResolvedRate is so many fences in a time.
type ResolvedRate struct {
	Count  int32           `json:"count"`
	Period metav1.Duration `json:"period"`
}
