package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unhealthy says what else counts as a failed node.
type Unhealthy struct {
	// Problems are passing problems that somebody reports as Kubernetes Events
	// about a Node, as node-problem-detector does, or about the Pods on it. Whoever
	// may create Events in namespace default, or in that of the Pod, can report one,
	// as far as infra/crd/events.yaml does not refuse it: that keeps a node's
	// credentials to that node, and the names of monitors to the accounts that
	// ConfigMap nodefence-monitors lists. List there every component with action Fence.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=reason
	// +listMapKey=component
	// +listMapKey=about
	// +optional
	Problems []NodeProblem `json:"problems,omitempty"`
}

// NodeProblem is a problem that counts once it was reported often enough.
// +kubebuilder:validation:XValidation:rule="self.about == 'Pod' || (self.pods == 1 && !has(self.namespaces))",message="pods and namespaces are for about: Pod"
// +kubebuilder:validation:XValidation:rule="self.pods <= self.count",message="pods must not be more than count: each of them is a report"
// +kubebuilder:validation:XValidation:rule="self.action != 'Evict' || self.about == 'Pod'",message="action Evict moves Pods: it is for about: Pod"
// +kubebuilder:validation:XValidation:rule="!has(self.evict) || self.action == 'Evict'",message="evict is for action: Evict"
// +kubebuilder:validation:XValidation:rule="!has(self.evict) || !has(self.evict.deleteAfter) || duration(self.evict.deleteAfter) <= duration(self.within)",message="evict.deleteAfter must not be longer than within: older reports are not counted"
type NodeProblem struct {
	// About says what the Events are about: the Node itself, or a Pod, whose
	// Events count for the node that the Pod is bound to.
	// +kubebuilder:default=Node
	// +optional
	About ProblemAbout `json:"about,omitempty"`
	// Reason of the Events, such as TaskHung.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason"`
	// Component that reports it, such as kernel-monitor. Empty: any.
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Component string `json:"component"`
	// Pods is on how many different Pods of the node the problem must have been
	// reported. One Pod that asks for a volume or a Secret that does not exist is no
	// failed node: with action Fence, two or more tell the two apart.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Pods int32 `json:"pods,omitempty"`
	// Namespaces whose Pods count. Whoever may create Events in one of them can
	// report of the nodes that its Pods run on. Unless set: all.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
	// Count of reports within Within that it takes. Of Events with the same message
	// from the same component (and of the same Pod) the largest count is taken, and
	// not the sum: a monitor that is restarted reads its log again and reports old
	// lines as new Events. Different messages add up. An Event that began before that
	// time counts once, because how often it came since is not known.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Count int32 `json:"count,omitempty"`
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('1h')",message="within must be between 1s and 1h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	Within metav1.Duration `json:"within,omitempty"`
	// Action Alert only tells: log, metric, and an Event on the Node. Fence asks
	// for a fence, under all limits; let the monitor not look back then (lookback: 0s
	// in node-problem-detector's configuration). Evict moves Pods off the node, whose machine
	// is well and runs on: nothing is forced, and no device is touched.
	// +kubebuilder:default=Alert
	// +optional
	Action ProblemAction `json:"action,omitempty"`
	// Evict says which Pods are moved with action Evict, and how.
	// +optional
	Evict *Eviction `json:"evict,omitempty"`
}

// Eviction moves Pods off a node that is Ready and has no open fence, by Kubernetes'
// eviction API: their PodDisruptionBudgets hold, and they have their own time to
// end. Pods of a DaemonSet and mirror pods stay.
type Eviction struct {
	// Of Pod moves the Pods that the problem was reported of; Volume also those of
	// the node that use one of their claims, so that a volume that is stuck on the
	// node can leave it.
	// +kubebuilder:default=Pod
	// +optional
	Of EvictionOf `json:"of,omitempty"`
	// DeleteAfter: what a PodDisruptionBudget still holds so long after the problem
	// was first reported is deleted, with its own time to end. Unless set, the
	// budget has the last word. It is looked at again with each further report.
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('1h')",message="deleteAfter must be between 1s and 1h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	DeleteAfter *metav1.Duration `json:"deleteAfter,omitempty"`
	// AtMost is how many Pods of one node are moved for this problem within the
	// problem's time: Pods that fail wherever they are must not wander for ever.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	AtMost int32 `json:"atMost,omitempty"`
}

// EvictionOf is what is moved.
// +kubebuilder:validation:Enum=Pod;Volume
type EvictionOf string

// What is moved.
const (
	EvictPod    EvictionOf = "Pod"
	EvictVolume EvictionOf = "Volume"
)

// Is tells whether a report is one of this problem.
func (p NodeProblem) Is(about ProblemAbout, reason, component string) bool {
	is := p.About
	if is == "" {
		is = AboutNode
	}
	return is == about && p.Reason == reason && (p.Component == "" || p.Component == component)
}

// ProblemAbout is what the Events of a problem are about.
// +kubebuilder:validation:Enum=Node;Pod
type ProblemAbout string

// What they may be about.
const (
	AboutNode ProblemAbout = "Node"
	AboutPod  ProblemAbout = "Pod"
)

// EarlyProbe is a Lease that stands still. It is enough to read the machine's
// power, under all limits, and to release what ran on a machine that is seen off;
// it is never enough to switch a machine off, or to mark a node whose machine is
// on: that waits for a condition of the policy, as ever.
type EarlyProbe struct {
	// leaseStillDuration is how long the Lease must have been seen to stand still, from 5s
	// to 10m. The machine is not read before every node that was lost in the same moment
	// would show too, so that a storm is seen for one: 2.2 renewals and a second, which
	// is 23 s where Leases are renewed each 10 s.
	// +kubebuilder:default="12s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('5s') && duration(self) <= duration('10m')",message="leaseStillDuration must be between 5s and 10m"
	// +optional
	LeaseStillDuration *Duration `json:"leaseStillDuration,omitempty"`
}

// ProblemAction is what a problem leads to.
// +kubebuilder:validation:Enum=Alert;Fence;Evict
type ProblemAction string

// The actions on problems.
const (
	ProblemAlert ProblemAction = "Alert"
	ProblemFence ProblemAction = "Fence"
	ProblemEvict ProblemAction = "Evict"
)

// UnhealthyCondition is one node condition that makes a node unhealthy.
// +kubebuilder:validation:XValidation:rule="!(self.type == 'Ready' && self.status == 'True')",message="Ready=True is what healthy means; it can't make a node unhealthy"
type UnhealthyCondition struct {
	// type of the condition, such as Ready.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`
	// status in which it makes the node unhealthy: True, False or Unknown.
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status string `json:"status"`
	// duration is how long the condition must have held, by the API server's clock, from
	// 0s to 24h.
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="duration must be between 0s and 24h"
	// +optional
	Duration *Duration `json:"duration,omitempty"`
}
