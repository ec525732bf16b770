package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FencePolicy says which nodes are fenced, when, and how far.
//
// If a program does not know or can't read a field or a value, or if selector, mode or action is
// missing, it begins no fence of the nodes that the policy selects, as if the policy were paused
// (PolicyNotUnderstood): the field may be a brake of a newer version. If that is selector,
// controlPlane, missingNodes or machines, which may be about any node, the program begins no
// fence at all. It begins none either if that is status.missing or status.failedMachines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=fencepol,categories=fencing
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=MODE,type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name=ACTION,type=string,JSONPath=`.spec.action`
// +kubebuilder:printcolumn:name=PRECEDENCE,type=integer,JSONPath=`.spec.precedence`
// +kubebuilder:printcolumn:name=NODES,type=integer,JSONPath=`.status.selectedNodes`
// +kubebuilder:printcolumn:name=UNHEALTHY,type=integer,JSONPath=`.status.unhealthyNodes`
// +kubebuilder:printcolumn:name=ALLOWED,type=string,JSONPath=`.status.conditions[?(@.type=="FencingAllowed")].status`
// +kubebuilder:printcolumn:name=ACCEPTED,type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name=REASON,type=string,JSONPath=`.status.conditions[?(@.type=="FencingAllowed")].reason`
// +kubebuilder:printcolumn:name=AGE,type=date,JSONPath=`.metadata.creationTimestamp`
type FencePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what a person decides.
	// +required
	Spec FencePolicySpec `json:"spec"`
	// status is what nodefence found and did.
	// +optional
	// +structType=atomic
	Status FencePolicyStatus `json:"status,omitzero"`

	NotUnderstood NotUnderstood `json:"-"`
}

// FencePolicySpec is what a person decides.
//
// +kubebuilder:validation:XValidation:rule="!has(self.approvalTimeout) || self.mode == 'RequireApproval'",message="approvalTimeout is for mode RequireApproval: set that mode, or leave approvalTimeout out"
// +kubebuilder:validation:XValidation:rule="!(has(self.earlyProbe) && has(self.activityChecks))",message="earlyProbe and activityChecks exclude each other, as one hurries and the other takes its time: leave one of them out"
// +kubebuilder:validation:XValidation:rule="!(has(self.release) && has(self.release.deleteNode) && self.release.deleteNode) || self.action == 'PowerOff' && !has(self.missingNodes)",message="release.deleteNode needs action PowerOff, and excludes missingNodes: a Node that was deleted would be missing"
// +kubebuilder:validation:XValidation:rule="!(has(self.release) && self.release.strategy == 'None') || self.action != 'PowerOff'",message="release.strategy None under action PowerOff would keep the work on a machine that stays off, and lose it for ever: write another strategy, or action Reboot"
// +kubebuilder:validation:XValidation:rule="!has(self.power) || self.action in ['Reboot', 'PowerOff']",message="power says how a machine is switched off, and needs action Reboot or PowerOff: set one of these, or leave power out"
// +kubebuilder:validation:XValidation:rule="!has(self.isolation) || !has(self.isolation.powerDelay) || self.action in ['Reboot', 'PowerOff']",message="isolation.powerDelay makes the power cut wait, and needs action Reboot or PowerOff: set one of these, or leave powerDelay out"
// +kubebuilder:validation:XValidation:rule="!has(self.drain) || self.action in ['Reboot', 'PowerOff']",message="drain empties a node before its machine is cut, and needs action Reboot or PowerOff: set one of these, or leave drain out"
// +kubebuilder:validation:XValidation:rule="!has(self.kdump) || self.action in ['Reboot', 'PowerOff']",message="kdump makes the power cut wait, and needs action Reboot or PowerOff: set one of these, or leave kdump out"
// +kubebuilder:validation:XValidation:rule="!has(self.activityChecks) || !(self.action in ['Isolate', 'WaitForOff']) || !self.activityChecks.checks.exists(c, c.type == 'Device')",message="activityChecks.checks[].type Device needs action Reboot or PowerOff, as no other action switches a machine: set one of these, or leave that check out"
// +kubebuilder:validation:XValidation:rule="!has(self.machines) || !has(self.machines.withoutNode) || self.machines.withoutNode != 'Delete' || self.action in ['PowerOff', 'Reboot']",message="machines.withoutNode Delete needs action Reboot or PowerOff, as no other action deletes anything: set one of these, or write withoutNode Report"
type FencePolicySpec struct {
	// selector chooses nodes by label. It has no default: {} is every node, and must be
	// written.
	// +required
	Selector *LabelSelector `json:"selector,omitempty"`
	// mode has no default. Enforce acts; RequireApproval waits for a person before
	// anything is touched; DryRun opens records that say what would be done.
	// +required
	Mode Mode `json:"mode,omitempty"`
	// approvalTimeout is how long mode RequireApproval waits for a person, from 1s to
	// 168h; unless set, 1h. After that the fence is given up, visibly; a retry asks
	// again. Only with mode RequireApproval.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="approvalTimeout must be between 1s and 168h"
	// +optional
	ApprovalTimeout *Duration `json:"approvalTimeout,omitempty"`
	// precedence orders policies that select the same node, from 0 to 1000000; 100 by
	// default. The lowest number decides everything but limits, of which the strictest
	// hold. Two policies of one precedence that select one node are a conflict, and that
	// node is not fenced.
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Precedence *int32 `json:"precedence,omitempty"`
	// exclude names selected nodes that must not be fenced. Nodes with the label
	// remediation.medik8s.io/exclude-from-remediation=true are left alone under every policy, as
	// are nodes that an autoscaler is about to delete, or whose Machine is being deleted. A node
	// that is excluded by its labels stays so when its Node object is gone.
	// +optional
	Exclude *ExcludedNodes `json:"exclude,omitempty"`
	// unhealthyConditions are node conditions and how long each must have held, 1 to 32; any one
	// suffices. Unless set: Ready=Unknown at once, Ready=False for 5m. Kubernetes itself waits
	// before it says Unknown (50s by default), and a Lease that has stood still as long is looked
	// at again before power is cut; if your network switches take longer than that to come back,
	// give Ready=Unknown a longer duration.
	// +kubebuilder:default={{type:Ready,status:Unknown,"duration":"0s"},{type:Ready,status:"False","duration":"5m"}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=type
	// +listMapKey=status
	// +optional
	UnhealthyConditions []UnhealthyCondition `json:"unhealthyConditions,omitempty"`
	// nodeStartupTimeout is how long a new node may take from its creation to be Ready
	// for the first time, from 1m to 24h. Until then its conditions count for nothing;
	// after it, a node that was never Ready is unhealthy, whatever its conditions. Unless
	// set, only conditions count, from the start.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="nodeStartupTimeout must be between 1m and 24h"
	// +optional
	NodeStartupTimeout *Duration `json:"nodeStartupTimeout,omitempty"`
	// missingNodes names nodes that must be there: one whose Node object is missing for too long
	// is reported, and fenced as far as that is safe. Off unless set.
	// +optional
	MissingNodes *MissingNodesRule `json:"missingNodes,omitempty"`
	// machines are Machines of the Machine API or of Cluster API whose nodes must be
	// there. Unless set, Machines are not looked at.
	// +optional
	Machines *MachinesRule `json:"machines,omitempty"`
	// earlyProbe opens a fence for a Lease that stands still, before any
	// condition counts. Unless set, only conditions do.
	// +optional
	EarlyProbe *EarlyProbe `json:"earlyProbe,omitempty"`
	// activityChecks asks other witnesses whether the node is really dead, before
	// anything is reserved. Off unless set.
	// +optional
	ActivityChecks *ActivityChecks `json:"activityChecks,omitempty"`
	// storageCheck holds fences while the storage is unreachable for everyone. Off
	// unless set.
	// +optional
	StorageCheck *StorageCheck `json:"storageCheck,omitempty"`
	// kdump lets a crashed machine finish the dump of its memory before its power is cut. Off
	// unless set, here or by kdump=enabled in the node's configuration.
	// +optional
	Kdump *KdumpRule `json:"kdump,omitempty"`
	// limits bound how much is fenced at once. The limits of every policy that selects a
	// node hold, and not those of the deciding one alone.
	// +kubebuilder:default={}
	// +optional
	Limits Limits `json:"limits,omitzero"`
	// controlPlane says whether nodes of the control plane, and of etcd, may be fenced.
	// +kubebuilder:default={}
	// +optional
	ControlPlane ControlPlane `json:"controlPlane,omitzero"`
	// action says what happens to the machine. Reboot, the default, switches it on again after
	// its work is released. PowerOff leaves it off. Isolate keeps new work away and touches no
	// device: nothing is released unless a named person confirms that the machine is off.
	// WaitForOff switches nothing either, and does not mark the node before the machine is off:
	// it waits for that person or, if the node's configuration names a device, for the machine to
	// read off twice.
	// +kubebuilder:default=Reboot
	// +optional
	Action FenceAction `json:"action,omitempty"`
	// drain is how a node that is Ready is emptied before its machine is cut; for 5m unless set.
	// Only under action Reboot and PowerOff.
	// +optional
	Drain *Drain `json:"drain,omitempty"`
	// isolation is how a node is isolated before its machine's power is cut.
	// +optional
	Isolation *Isolation `json:"isolation,omitempty"`
	// power is how the machine's power is cut: how many of its devices are tried, and how
	// long each. Only under action Reboot and PowerOff.
	// +optional
	Power *Power `json:"power,omitempty"`
	// release is how the pods and volumes of a machine that is proven off are released.
	// +kubebuilder:default={}
	// +optional
	Release *Release `json:"release,omitempty"`
	// recovery is how a node is given back once it is healthy.
	// +kubebuilder:default={}
	// +optional
	Recovery *Recovery `json:"recovery,omitempty"`
	// pauseRequests stop new fences under this policy for as long as there is one: at most 32,
	// each the name of the person or tool that wants the pause. An upgrade tool adds its own and
	// removes it again, and need not know the others. What was begun runs to its end (S25).
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	PauseRequests []string `json:"pauseRequests,omitempty"`
	// pauseChanged is who changed pauseRequests last, and when. kubectl fence writes it; a pause without it has no
	// name (FenceAct). It pauses nothing by itself.
	// +optional
	PauseChanged *BrakeChange `json:"pauseChanged,omitempty"`
	// pauseWindows are times within which no fence of a node that this policy selects begins,
	// whatever other policies select it too, at most 32. What was begun runs to its end, and
	// healed nodes return (S25, S27). A node that is unhealthy waits, and is decided again after
	// the window. An event that asks for a fence waits too, for as long as a request is valid.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	PauseWindows []PauseWindowRule `json:"pauseWindows,omitempty"`
}

// ExcludedNodes are chosen by name or by label.
type ExcludedNodes struct {
	// nodeNames are nodes that are excluded by name: at most 256.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	NodeNames []string `json:"nodeNames,omitempty"`
	// selector excludes by label. {} excludes every node.
	// +optional
	Selector *LabelSelector `json:"selector,omitempty"`
}

// FenceAction says what happens to the machine.
// +kubebuilder:validation:Enum=Reboot;PowerOff;Isolate;WaitForOff
type FenceAction string

// The actions.
const (
	// ActionOff leaves the machine off. Not "Off": YAML reads that as a boolean.
	ActionOff        FenceAction = "PowerOff"
	ActionReboot     FenceAction = "Reboot"
	ActionIsolate    FenceAction = "Isolate"
	ActionWaitForOff FenceAction = "WaitForOff"
)

// Device tells whether the action is carried out by a device.
func (a FenceAction) Device() bool { return a == ActionReboot || a == ActionOff }

// Reads tells whether the machine's device is read, if only to see it off.
func (a FenceAction) Reads() bool { return a != ActionIsolate }

// Mode says whether a policy acts.
// +kubebuilder:validation:Enum=Enforce;RequireApproval;DryRun
type Mode string

// The modes.
const (
	ModeEnforce         Mode = "Enforce"
	ModeRequireApproval Mode = "RequireApproval"
	ModeDryRun          Mode = "DryRun"
)

// FencePolicyList is a list of FencePolicy.
// +kubebuilder:object:root=true
type FencePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FencePolicy `json:"items"`
}
