package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ResolvedPolicy is the outcome of all policies that select a node.
type ResolvedPolicy struct {
	// policy is the deciding policy.
	// +required
	Policy PolicyRef `json:"policy"`
	// settings are what it says, with every default in its place.
	// +required
	Settings Settings `json:"settings"`
	// limits are those of every policy that selects the node; all must hold.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +required
	Limits []ScopedLimits `json:"limits"`
}

// PolicyRef is a policy as it was when it was resolved.
type PolicyRef struct {
	// name is the FencePolicy's.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// generation is the FencePolicy's, as it was resolved.
	// +required
	Generation int64 `json:"generation"`
}

// Settings are what the deciding policy says of one node's fence.
type Settings struct {
	// conflict names the policy of equal precedence, if there is one; then
	// nothing is done.
	// +optional
	Conflict string `json:"conflict,omitempty"`
	// unhealthyConditions is what the policy says, or its default: see
	// unhealthyConditions of FencePolicy.spec.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +required
	UnhealthyConditions []ConditionSetting `json:"unhealthyConditions"`
	// earlyProbe is what the policy says, or its default: see earlyProbe of
	// FencePolicy.spec.
	// +optional
	EarlyProbe *ProbeSetting `json:"earlyProbe,omitempty"`
	// action is what the policy says, or its default: see action of FencePolicy.spec.
	// +required
	Action FenceAction `json:"action"`
	// mode is what the policy says, or its default: see mode of FencePolicy.spec.
	// +required
	Mode Mode `json:"mode"`
	// approvalTimeout is what the policy says, or its default: see approvalTimeout of
	// FencePolicy.spec.
	// +optional
	ApprovalTimeout metav1.Duration `json:"approvalTimeout,omitempty"`
	// activityChecks is what the policy says, or its default: see activityChecks of
	// FencePolicy.spec.
	// +optional
	ActivityChecks *ActivitySettings `json:"activityChecks,omitempty"`
	// storageCheck is what the policy says, or its default: see storageCheck of
	// FencePolicy.spec.
	// +optional
	StorageCheck *StorageSettings `json:"storageCheck,omitempty"`
	// kdump is what the policy says, or its default: see kdump of FencePolicy.spec.
	// +optional
	Kdump *KdumpSettings `json:"kdump,omitempty"`
	// excluded says why this node is not to be fenced under this policy, if it is not.
	// +optional
	Excluded string `json:"excluded,omitempty"`
	// controlPlane is what the policy says, or its default: see controlPlane of
	// FencePolicy.spec.
	// +optional
	ControlPlane ControlPlaneSetting `json:"controlPlane,omitzero"`
	// power is what the policy says, or its default: see power of FencePolicy.spec.
	// +required
	Power PowerSettings `json:"power"`
	// release is what the policy says, or its default: see release of FencePolicy.spec.
	// +required
	Release ReleaseSettings `json:"release"`
	// recovery is what the policy says, or its default: see recovery of FencePolicy.spec.
	// +required
	Recovery RecoverySettings `json:"recovery"`
	// perNode is the strictest of all policies that select the node.
	// +required
	PerNode PerNodeSettings `json:"perNode"`
}

// ConditionSetting is a node condition that makes the node unhealthy.
type ConditionSetting struct {
	// type is the node condition's, such as Ready.
	// +kubebuilder:validation:MaxLength=316
	// +required
	Type string `json:"type"`
	// status is what nodefence found and did.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Status string `json:"status"`
	// duration is how long it must have held.
	// +required
	Duration metav1.Duration `json:"duration"`
}

// ControlPlaneSetting says whether a node of the control plane, or of etcd, may be fenced.
type ControlPlaneSetting struct {
	// fence is what the policy says, or its default: see controlPlane.fence of
	// FencePolicy.spec.
	// +optional
	Fence ControlPlaneRule `json:"fence,omitempty"`
	// etcdNodeNames is what the policy says, or its default: see
	// controlPlane.etcdNodeNames of FencePolicy.spec.
	// +kubebuilder:validation:MaxItems=9
	// +listType=atomic
	// +optional
	EtcdNodeNames []string `json:"etcdNodeNames,omitempty"`
}

// ProbeSetting is a Lease that stands still, for an early probe.
type ProbeSetting struct {
	// leaseStillDuration is what the policy says, or its default: see
	// earlyProbe.leaseStillDuration of FencePolicy.spec.
	// +required
	LeaseStillDuration metav1.Duration `json:"leaseStillDuration"`
}

// ScopedLimits are one policy's limits with the nodes that they count over.
type ScopedLimits struct {
	// policy is the name of the FencePolicy whose limits these are.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Policy string `json:"policy"`
	// generation is the policy's.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// selector is the policy's: its limits count the nodes that it selects.
	// +optional
	Selector *LabelSelector `json:"selector,omitempty"`
	// maxUnhealthy of the nodes that the selector chooses; a percentage as it was written.
	// +required
	MaxUnhealthy intstr.IntOrString `json:"maxUnhealthy"`
	// maxConcurrent over all nodes that the selector chooses.
	// +required
	MaxConcurrent int32 `json:"maxConcurrent"`
	// maxRate is what the policy says, or its default: see limits.maxRate of
	// FencePolicy.spec.
	// +optional
	MaxRate *ResolvedRate `json:"maxRate,omitempty"`
	// stormCoolDown is what the policy says, or its default: see limits.stormCoolDown of
	// FencePolicy.spec.
	// +optional
	StormCoolDown metav1.Duration `json:"stormCoolDown,omitzero"`
	// perDomain holds besides, over the nodes that share the node's value of a label.
	// +optional
	PerDomain *ResolvedDomain `json:"perDomain,omitempty"`
	// skipFrom is the percentage of unhealthy nodes from which nothing begins, as
	// ConfigMap fence-policy-fence-limit has it; then it is the only limit here.
	// +optional
	SkipFrom int32 `json:"skipFrom,omitempty"`
}

// ResolvedDomain are the limits of one domain. What the policy leaves out is as wide as
// it can be.
type ResolvedDomain struct {
	// topologyKey is what the policy says, or its default: see
	// limits.perDomain.topologyKey of FencePolicy.spec.
	// +required
	TopologyKey string `json:"topologyKey"`
	// maxUnhealthy is what the policy says, or its default: see
	// limits.perDomain.maxUnhealthy of FencePolicy.spec.
	// +required
	MaxUnhealthy intstr.IntOrString `json:"maxUnhealthy"`
	// maxConcurrent is what the policy says, or its default: see
	// limits.perDomain.maxConcurrent of FencePolicy.spec.
	// +required
	MaxConcurrent int32 `json:"maxConcurrent"`
}

// ResolvedRate is so many fences in a time.
type ResolvedRate struct {
	// count is what the policy says: see limits.maxRate.count of FencePolicy.spec.
	// +required
	Count int32 `json:"count"`
	// period is what the policy says: see limits.maxRate.period of FencePolicy.spec.
	// +required
	Period metav1.Duration `json:"period"`
}
