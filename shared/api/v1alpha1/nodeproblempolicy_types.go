package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeProblemPolicy says which problems of nodes count, who may report them, and how often it
// takes. It detects and asks; it decides nothing. The FencePolicy that selects the node decides
// whether and how it is fenced for a problem: of a node that no FencePolicy selects, the problem
// is only reported. The rules of every NodeProblemPolicy that selects a node count.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=nodeproblempol,categories=fencing
// +kubebuilder:printcolumn:name=RULES,type=string,JSONPath=`.spec.rules[*].name`
// +kubebuilder:printcolumn:name=AGE,type=date,JSONPath=`.metadata.creationTimestamp`
type NodeProblemPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what a person decides.
	// +required
	Spec NodeProblemPolicySpec `json:"spec"`

	NotUnderstood NotUnderstood `json:"-"`
}

// NodeProblemPolicySpec is what a person decides.
type NodeProblemPolicySpec struct {
	// selector chooses the nodes that the rules are about, by label. It is required:
	// {} is every node, and must be written.
	// +required
	Selector *LabelSelector `json:"selector,omitempty"`
	// rules are 1 to 32, each by a name of its own. Several may be about the same report: each
	// counts for itself, and the strongest action that is due is taken, Fence before Ask before Evict.
	// Alert is carried out in addition.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +required
	Rules []ProblemRule `json:"rules,omitempty"`
}

// ProblemRule is about one kind of report: kubernetesEvent or cloudEvent.
//
// +kubebuilder:validation:XValidation:rule="has(self.kubernetesEvent) != has(self.cloudEvent)",message="set one of kubernetesEvent and cloudEvent: a rule is about one kind of report"
// +kubebuilder:validation:XValidation:rule="has(self.kubernetesEvent) && self.kubernetesEvent.about == 'Pod' || self.threshold.pods == 1",message="threshold.pods is for kubernetesEvent.about Pod: set about to Pod, or leave threshold.pods out"
// +kubebuilder:validation:XValidation:rule="self.threshold.pods <= self.threshold.count",message="threshold.pods must not be more than threshold.count, as each Pod is one report: lower threshold.pods, or raise threshold.count"
// +kubebuilder:validation:XValidation:rule="!has(self.cloudEvent) || self.threshold.count <= 100",message="threshold.count of a cloudEvent must not be more than 100: each of them is written down as a Kubernetes Event"
// +kubebuilder:validation:XValidation:rule="self.action != 'Evict' || has(self.kubernetesEvent) && self.kubernetesEvent.about == 'Pod'",message="action Evict moves Pods, and is for kubernetesEvent.about Pod: set about to Pod, or action Alert or Ask"
// +kubebuilder:validation:XValidation:rule="self.action != 'Fence' || has(self.cloudEvent)",message="action Fence is for cloudEvent, as a Kubernetes Event cuts nothing by itself: everybody who may create Events can write it. Set action Ask, a fence that waits for a person's approval, or have the monitor set a condition of the Node and name that in a FencePolicy (unhealthyConditions)"
// +kubebuilder:validation:XValidation:rule="self.action != 'Ask' || has(self.kubernetesEvent)",message="action Ask is for kubernetesEvent: set action Fence or Alert for a cloudEvent"
// +kubebuilder:validation:XValidation:rule="!has(self.evict) || self.action == 'Evict'",message="evict is for action Evict: set that action, or leave evict out"
// +kubebuilder:validation:XValidation:rule="!has(self.evict) || !has(self.evict.deleteAfter) || !self.evict.deleteAfter.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || !self.threshold.within.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self.evict.deleteAfter) <= duration(self.threshold.within)",message="evict.deleteAfter must not be longer than threshold.within (10m unless set), as older reports are not counted: shorten deleteAfter, or lengthen within"
type ProblemRule struct {
	// name of the rule, in this policy: 1 to 63 small letters, digits and '-'. Records
	// of fences name it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="name a rule with small letters, digits and '-', which neither begin nor end with '-'"
	// +required
	Name string `json:"name,omitempty"`
	// kubernetesEvent is a report that is a Kubernetes Event, such as node-problem-detector
	// writes about a Node, or a kubelet about a Pod.
	// +optional
	KubernetesEvent *KubernetesEventRule `json:"kubernetesEvent,omitempty"`
	// cloudEvent is a report that comes through the broker, without a token.
	// +optional
	CloudEvent *CloudEventRule `json:"cloudEvent,omitempty"`
	// threshold says how many reports it takes until the action is due.
	// +kubebuilder:default={}
	// +optional
	Threshold ProblemThreshold `json:"threshold,omitzero"`
	// action is Alert, Ask, Fence or Evict. Alert only reports, by log, metric, and an Event on the
	// Node. Ask is for a kubernetesEvent: it opens a fence that waits for a person's approval
	// (spec.requests.approve of the NodeFence) in every mode of the FencePolicy, and then goes by
	// that policy and all limits. Nothing is touched before the approval. Without an approval
	// within an hour (approvalTimeout in mode RequireApproval) the fence ends. Fence is for a
	// cloudEvent: it asks for a fence, under the node's FencePolicy and all limits. A rule on a
	// kubernetesEvent that was stored with Fence acts as Ask. Evict moves Pods off the node, whose
	// machine is well and runs on: nothing is forced, and no device is touched. Default: Alert.
	// +kubebuilder:default=Alert
	// +optional
	Action *ProblemAction `json:"action,omitempty"`
	// evict says which Pods are moved with action Evict, and how.
	// +optional
	Evict *ProblemEviction `json:"evict,omitempty"`
}

// KubernetesEventRule chooses Kubernetes Events. Everybody who may create Events in namespace
// default, or in that of the Pod, can report one, as far as infra/crd/events.yaml does not refuse
// it: that file keeps a node's credentials to that node, and the names of monitors to the
// accounts that ConfigMap nodefence-monitors lists. So no Kubernetes Event cuts anything by
// itself. List there every component of a rule with action Ask or Evict, so that nobody else can
// have people asked, or Pods moved.
//
// +kubebuilder:validation:XValidation:rule="self.about == 'Pod' || !has(self.namespaceNames)",message="kubernetesEvent.namespaceNames is for kubernetesEvent.about Pod: set about to Pod, or leave namespaceNames out"
type KubernetesEventRule struct {
	// about is what the Events are about: the Node itself, or a Pod, whose Events count
	// for the node that the Pod is bound to. Default: Node.
	// +kubebuilder:default=Node
	// +optional
	About *ProblemAbout `json:"about,omitempty"`
	// reason of the Events, such as TaskHung: 1 to 128 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	Reason string `json:"reason,omitempty"`
	// component is what reports it, such as kernel-monitor: at most 253 letters. Unless
	// set: any.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Component string `json:"component,omitempty"`
	// namespaceNames are the namespaces whose Pods count, 1 to 64. Everybody who may create
	// Events in one of them can report problems of the nodes that its Pods run on. Unless set:
	// all.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	NamespaceNames []string `json:"namespaceNames,omitempty"`
}

// CloudEventRule chooses CloudEvents that are believed without a token. Everybody who can post to
// the broker can write any source into an event: list a source only if the broker itself is
// closed to others, and say so with brokerIsClosed.
//
// +kubebuilder:validation:XValidation:rule="has(self.brokerIsClosed) && self.brokerIsClosed",message="a cloudEvent rule believes whatever source an event names: set brokerIsClosed: true beside it if nobody else can post to the broker, or have the events carry a token"
type CloudEventRule struct {
	// source of the events, exactly: 1 to 256 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Source string `json:"source,omitempty"`
	// type of the events, exactly: 1 to 256 characters. Default:
	// io.nodefence.request.fence.v1.
	// +kubebuilder:default="io.nodefence.request.fence.v1"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Type *string `json:"type,omitempty"`
	// brokerIsClosed is your assurance that only this source, others that you list, and nodefence
	// itself can post to the broker, or past it to the gate: a Broker with an EventPolicy and
	// authentication where a network plugin enforces NetworkPolicy and nobody else may create
	// Triggers, Subscriptions or sources to the gate; nodefence-local on loopback of a machine of
	// your own; a bus and a gate that IAM closes. It must be true.
	// +optional
	BrokerIsClosed bool `json:"brokerIsClosed,omitempty"`
}

// ProblemThreshold is how often a problem must be reported of one node.
type ProblemThreshold struct {
	// count of reports in the time that within says, 1 to 10000. Each Kubernetes Event counts
	// once, by its UID, if the API server created it in that time: a count, a series and all other
	// times in an Event are written by its sender and count for nothing. Events with the same
	// message from the same component (and of the same Pod) count once together: a monitor that
	// is restarted reads its log again and reports old lines as new Events. An Event that asked
	// for a fence of the node is used up. A CloudEvent that comes twice counts once. Default: 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Count *int32 `json:"count,omitempty"`
	// pods is on how many different Pods of the node the problem must have been reported, 1 to
	// 100. One Pod that asks for a volume or a Secret that does not exist does not make a failed
	// node: with action Ask, set this to two or more. Default: 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Pods *int32 `json:"pods,omitempty"`
	// within is the time in which they must come, 1s to 1h. Default: 10m.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="threshold.within must be between 1s and 1h"
	// +optional
	Within *Duration `json:"within,omitempty"`
}

// ProblemEviction moves Pods off a node that is Ready and has no open fence, by Kubernetes'
// eviction API: their PodDisruptionBudgets and their own grace periods hold. Pods of a DaemonSet
// and mirror pods stay.
type ProblemEviction struct {
	// what is moved. Pod: the Pods that the problem was reported of. Volume: also those
	// of the node that use one of their claims, so that a volume that is stuck on the
	// node can leave it. Default: Pod.
	// +kubebuilder:default=Pod
	// +optional
	What *EvictWhat `json:"what,omitempty"`
	// maxPods is how many Pods of one node are moved for this rule within threshold.within, 1 to
	// 100: Pods that fail on every node must not be moved for ever. Default: 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`
	// deleteAfter is 1s to 1h: a Pod that a PodDisruptionBudget still holds so long after the
	// problem was first reported is deleted, with its own grace period. Unless set, the budget
	// decides. It is looked at again with each further report.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="evict.deleteAfter must be between 1s and 1h"
	// +optional
	DeleteAfter *Duration `json:"deleteAfter,omitempty"`
}

// EvictWhat is what is moved.
// +kubebuilder:validation:Enum=Pod;Volume
type EvictWhat string

// What is moved.
const (
	EvictPod    EvictWhat = "Pod"
	EvictVolume EvictWhat = "Volume"
)

// ProblemAbout is what the Events of a problem are about.
// +kubebuilder:validation:Enum=Node;Pod
type ProblemAbout string

// What they may be about.
const (
	AboutNode ProblemAbout = "Node"
	AboutPod  ProblemAbout = "Pod"
)

// ProblemAction is what a problem leads to.
// +kubebuilder:validation:Enum=Alert;Ask;Fence;Evict
type ProblemAction string

// The actions on problems.
const (
	ProblemAlert ProblemAction = "Alert"
	ProblemAsk   ProblemAction = "Ask"
	ProblemFence ProblemAction = "Fence"
	ProblemEvict ProblemAction = "Evict"
)

// NodeProblemPolicyList is a list of NodeProblemPolicy.
// +kubebuilder:object:root=true
type NodeProblemPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeProblemPolicy `json:"items"`
}
