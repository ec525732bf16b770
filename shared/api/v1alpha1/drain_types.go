package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Drain is how a node that still lives is emptied before its machine is cut.
type Drain struct {
	// timeout is how long a node that is Ready, and whose Lease moves, is drained before its machine
	// is cut, from 0s to 24h; 5m by default, and 0s drains no node. The node is isolated, and its pods
	// are asked to leave as kubectl drain asks them, within their PodDisruptionBudgets. Pods of a
	// DaemonSet, mirror pods, and pods that were made after the node was isolated stay. Its machine is
	// cut as soon as nothing else is left, or when the time is over. Time in which a brake holds the
	// fence does not count. All limits hold before a node is drained, and again before its machine is
	// cut; the fence holds no slot meanwhile, and limits.maxConcurrent bounds how many nodes drain at
	// once besides. A node that falls silent meanwhile is fenced like any other. Under action Isolate
	// and WaitForOff, and in a dry run, no node is drained.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) <= duration('24h')",message="drain.timeout must be between 0s and 24h"
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`
	// onTimeout says what happens when the time is over and pods are left. Fence, the default, cuts
	// the machine all the same. GiveUp ends the fence without a cut, and gives the node back. Where a
	// condition of the policy holds still, or a problem is reported, it waits instead, with nothing of
	// nodefence on the node, until that ends, the node falls silent, or a user asks anew: then the node
	// is drained once more.
	// +optional
	OnTimeout DrainTimeoutAction `json:"onTimeout,omitempty"`
}

// DrainTimeoutAction says how a fence goes on whose node could not be drained in time.
// +kubebuilder:validation:Enum=Fence;GiveUp
type DrainTimeoutAction string

// What follows a drain that took too long.
const (
	DrainThenFence  DrainTimeoutAction = "Fence"
	DrainThenGiveUp DrainTimeoutAction = "GiveUp"
)

// DefaultDrainTimeout is that of a policy that names none.
const DefaultDrainTimeout = 5 * time.Minute

// DrainSettings are a policy's Drain with every default in its place.
type DrainSettings struct {
	// timeout is how long a node that is Ready is drained, such as 5m0s; 0s for not at all.
	// +optional
	Timeout metav1.Duration `json:"timeout,omitzero"`
	// onTimeout is Fence or GiveUp; where it is missing, Fence.
	// +optional
	OnTimeout DrainTimeoutAction `json:"onTimeout,omitempty"`
}

// Settings are what it says; nil says the defaults.
func (d *Drain) Settings() DrainSettings {
	if d == nil {
		d = &Drain{}
	}
	s := DrainSettings{Timeout: d.Timeout.Or(DefaultDrainTimeout), OnTimeout: d.OnTimeout}
	if s.OnTimeout == "" {
		s.OnTimeout = DrainThenFence
	}
	return s
}

// DrainWish is what somebody who asks for a fence says of draining.
// +kubebuilder:validation:Enum=IfReady;Skip
type DrainWish string

// The wishes.
const (
	// DrainIfReady drains a node that is Ready, as its policy says.
	DrainIfReady DrainWish = "IfReady"
	// DrainSkip cuts the machine without draining the node.
	DrainSkip DrainWish = "Skip"
)

// DrainEnd is how a drain ended.
// +kubebuilder:validation:Enum=Empty;TimedOut;GivenUp;Silent;Skipped
type DrainEnd string

// The ends.
const (
	// DrainEmpty: nothing was left that had to leave.
	DrainEmpty DrainEnd = "Empty"
	// DrainTimeIsOver: pods were left, and the fence went on.
	DrainTimeIsOver DrainEnd = "TimedOut"
	// DrainGivenUp: pods were left, and the policy has the fence given up.
	DrainGivenUp DrainEnd = "GivenUp"
	// DrainSilent: the node fell silent.
	DrainSilent DrainEnd = "Silent"
	// DrainSkipped: somebody wants no drain, or a person says that the machine is off.
	DrainSkipped DrainEnd = "Skipped"
)

// DrainRecord is how the node was drained before its machine is cut. A fence drains once, and once more
// for a user who asks after that was given up.
type DrainRecord struct {
	// beganAt is when the drain began, by the API server's clock.
	// +required
	BeganAt Time `json:"beganAt"`
	// isolatedAt is when the node was first seen isolated, without a break since. Pods that were made
	// after that are not asked to leave.
	// +optional
	IsolatedAt *Time `json:"isolatedAt,omitempty"`
	// letAt is when the gate let the drain begin, or go on, until a look has seen that it did so in time.
	// +optional
	LetAt *Time `json:"letAt,omitempty"`
	// spent is how long the node has been drained until countedAt. The time in which it was isolated
	// and the fence was in phase Draining counts, and of the time between two looks 30 s at most.
	// +optional
	Spent metav1.Duration `json:"spent,omitzero"`
	// countedAt is until when spent was counted, by the API server's clock. It is missing while
	// nothing counts.
	// +optional
	CountedAt *Time `json:"countedAt,omitempty"`
	// askedAt is when pods were last asked to leave. It is saved before they are.
	// +optional
	AskedAt *Time `json:"askedAt,omitempty"`
	// rounds counts how often pods were asked to leave.
	// +optional
	Rounds int32 `json:"rounds,omitempty"`
	// podsLeft counts the pods that were left at the last look.
	// +optional
	PodsLeft int32 `json:"podsLeft,omitempty"`
	// left says which pods were left at the last look, and what held them.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Left string `json:"left,omitempty"`
	// endedAt is when the drain ended, by the API server's clock.
	// +optional
	EndedAt *Time `json:"endedAt,omitempty"`
	// ended is how it ended: Empty, TimedOut, GivenUp, Silent or Skipped. It is missing until then.
	// +optional
	Ended DrainEnd `json:"ended,omitempty"`
}

// Empty: all pods had left that had to.
func (r *DrainRecord) Empty() bool { return r != nil && r.EndedAt != nil && r.Ended == DrainEmpty }

// GivenUp: the node could not be drained in time, and nothing was cut.
func (r *DrainRecord) GivenUp() bool { return r != nil && r.EndedAt != nil && r.Ended == DrainGivenUp }
