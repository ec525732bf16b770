package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ResolvedPolicy is the outcome of all policies that select a node.
type ResolvedPolicy struct {
	// policy is the one that decides: of all that select the node, that with the lowest
	// precedence.
	// +required
	Policy PolicyRef `json:"policy"`
	// settings are what the deciding policy says, with every default in its place.
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
	// name is the name of the FencePolicy.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// generation is the FencePolicy's metadata.generation when it was resolved.
	// +required
	Generation int64 `json:"generation"`
}

// Settings are what the deciding policy says of one node's fence.
type Settings struct {
	// conflict names the policy of equal precedence, if there is one; then
	// nothing is done.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Conflict string `json:"conflict,omitempty"`
	// unhealthyConditions are the node conditions any one of which makes the node
	// unhealthy, each with how long it must have held.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +required
	UnhealthyConditions []ConditionSetting `json:"unhealthyConditions"`
	// earlyProbe says that a Lease that stands still opens a fence, and after how long;
	// where it is missing, only conditions do.
	// +optional
	EarlyProbe *ProbeSetting `json:"earlyProbe,omitempty"`
	// action says what happens to the machine: Reboot, PowerOff, Isolate or WaitForOff.
	// +required
	Action FenceAction `json:"action"`
	// mode says whether the policy acts: Enforce does, RequireApproval waits for a person,
	// DryRun only says what would be done.
	// +required
	Mode Mode `json:"mode"`
	// approvalTimeout is how long mode RequireApproval waits for a person, such as 1h0m0s;
	// 0s under any other mode.
	// +optional
	ApprovalTimeout metav1.Duration `json:"approvalTimeout,omitempty"`
	// activityChecks are the witnesses that are asked whether the node is really dead;
	// none where it is missing.
	// +optional
	ActivityChecks *ActivitySettings `json:"activityChecks,omitempty"`
	// storageCheck is the question about the storage that is asked before the fence
	// begins; none where it is missing.
	// +optional
	StorageCheck *StorageSettings `json:"storageCheck,omitempty"`
	// kdump says how long nodefence waits for a dump of the machine's memory before its power is
	// cut, if the policy has it wait.
	// +optional
	Kdump *KdumpSettings `json:"kdump,omitempty"`
	// excluded says why this node is not to be fenced under this policy, if it is not.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Excluded string `json:"excluded,omitempty"`
	// controlPlane says whether the node may be fenced if it is of the control plane, or
	// of etcd.
	// +optional
	ControlPlane ControlPlaneSetting `json:"controlPlane,omitzero"`
	// drain is how a node that is Ready is emptied before its machine is cut.
	// +optional
	Drain DrainSettings `json:"drain,omitzero"`
	// isolation is how the node is isolated before its machine's power is cut.
	// +optional
	Isolation IsolationSettings `json:"isolation,omitzero"`
	// power is how the machine's power is cut, and how often that is tried.
	// +required
	Power PowerSettings `json:"power"`
	// release is how pods and volumes are released once the machine is proven off.
	// +required
	Release ReleaseSettings `json:"release"`
	// recovery is how the node is given back once it is healthy.
	// +required
	Recovery RecoverySettings `json:"recovery"`
	// perNode bounds how often the machine's power is cut: the strictest of all policies
	// that select the node.
	// +required
	PerNode PerNodeSettings `json:"perNode"`
}

// ConditionSetting is a node condition that makes the node unhealthy.
type ConditionSetting struct {
	// type is the type of the node condition, such as Ready.
	// +kubebuilder:validation:MaxLength=316
	// +required
	Type string `json:"type"`
	// status is the condition's: True, False or Unknown.
	// +kubebuilder:validation:Enum=True;False;Unknown
	// +required
	Status string `json:"status"`
	// duration is how long the condition must have held, such as 5m0s.
	// +required
	Duration metav1.Duration `json:"duration"`
}

// ControlPlaneSetting says whether a node of the control plane, or of etcd, may be fenced.
type ControlPlaneSetting struct {
	// fence is Never, or WithQuorum: one at a time, and only while etcd keeps its quorum.
	// +optional
	Fence ControlPlaneRule `json:"fence,omitempty"`
	// etcdNodeNames are the nodes on which etcd runs, besides those on which it is
	// observed.
	// +kubebuilder:validation:MaxItems=9
	// +listType=atomic
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	EtcdNodeNames []string `json:"etcdNodeNames,omitempty"`
	// selectedBy is the policy whose spec.controlPlane.nodeSelector makes the node one of the
	// control plane; empty if none does.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SelectedBy string `json:"selectedBy,omitempty"`
}

// ProbeSetting is a Lease that stands still, for an early probe.
type ProbeSetting struct {
	// leaseStillDuration is how long the Lease must have stood still, such as 12s.
	// +required
	LeaseStillDuration metav1.Duration `json:"leaseStillDuration"`
}

// ScopedLimits are one policy's limits with the nodes that they count over.
type ScopedLimits struct {
	// policy is the name of the FencePolicy whose limits these are.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Policy string `json:"policy"`
	// generation is that FencePolicy's metadata.generation when it was resolved.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// selector chooses the nodes over which these limits count; every node where it is
	// missing.
	// +optional
	Selector *LabelSelector `json:"selector,omitempty"`
	// maxUnhealthy is the most unhealthy nodes of those, number or percent, with which a
	// fence may still begin; a percentage as it was written.
	// +required
	MaxUnhealthy intstr.IntOrString `json:"maxUnhealthy"`
	// maxConcurrent is how many of those nodes may be between reservation and release at
	// once.
	// +required
	MaxConcurrent int32 `json:"maxConcurrent"`
	// maxRate is how many fences of those nodes may begin in a time; any number where it
	// is missing.
	// +optional
	MaxRate *ResolvedRate `json:"maxRate,omitempty"`
	// stormCoolDown is how long nothing begins after a storm has ended, such as 5m0s.
	// +optional
	StormCoolDown metav1.Duration `json:"stormCoolDown,omitzero"`
	// perDomain are the limits that hold besides, over the nodes that share the node's
	// value of a label.
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
	// topologyKey is the node label that tells domains apart, such as
	// topology.kubernetes.io/zone.
	// +kubebuilder:validation:MaxLength=316
	// +required
	TopologyKey string `json:"topologyKey"`
	// maxUnhealthy is the most unhealthy nodes of one domain, number or percent, with
	// which a fence may still begin there; 100% where the policy sets none.
	// +required
	MaxUnhealthy intstr.IntOrString `json:"maxUnhealthy"`
	// maxConcurrent is how many nodes of one domain may be between reservation and release
	// at once; as many as over all domains where the policy sets none.
	// +required
	MaxConcurrent int32 `json:"maxConcurrent"`
}

// ResolvedRate is so many fences in a time.
type ResolvedRate struct {
	// count is how many fences may begin in the period.
	// +required
	Count int32 `json:"count"`
	// period is the time over which they are counted, such as 1h0m0s.
	// +required
	Period metav1.Duration `json:"period"`
}
