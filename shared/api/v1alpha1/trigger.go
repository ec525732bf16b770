package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TriggerType is what a fence opened for.
// +kubebuilder:validation:Enum=NodeCondition;LeaseStill;NodeMissing;StartupTimeout;Machine;Problem;Request
type TriggerType string

// What fences open for.
const (
	// TriggerNodeCondition is a condition of the Node, whatever its name.
	TriggerNodeCondition TriggerType = "NodeCondition"
	// TriggerLeaseStill is a Lease that stands still (earlyProbe).
	TriggerLeaseStill TriggerType = "LeaseStill"
	// TriggerNodeMissing is a Node object that is expected and not there.
	TriggerNodeMissing TriggerType = "NodeMissing"
	// TriggerStartupTimeout is a node that was never Ready since it was created.
	TriggerStartupTimeout TriggerType = "StartupTimeout"
	// TriggerMachine is the node's Machine, or a Machine that has no node.
	TriggerMachine TriggerType = "Machine"
	// TriggerProblem is a problem that was reported of the node, by a rule of a
	// NodeProblemPolicy.
	TriggerProblem TriggerType = "Problem"
	// TriggerRequest is an event that asks for a fence.
	TriggerRequest TriggerType = "Request"
)

// Trigger is why a fence opened: its type, and the member that goes with it. Who asked for the
// fence, when it opened or later, is in decision.askedBy.
// +kubebuilder:validation:XValidation:rule="has(self.nodeCondition) == (self.type == 'NodeCondition')",message="trigger.nodeCondition goes with trigger.type NodeCondition: set it for that type, and for no other"
// +kubebuilder:validation:XValidation:rule="has(self.leaseStill) == (self.type == 'LeaseStill')",message="trigger.leaseStill goes with trigger.type LeaseStill: set it for that type, and for no other"
// +kubebuilder:validation:XValidation:rule="has(self.nodeMissing) == (self.type == 'NodeMissing')",message="trigger.nodeMissing goes with trigger.type NodeMissing: set it for that type, and for no other"
// +kubebuilder:validation:XValidation:rule="has(self.startupTimeout) == (self.type == 'StartupTimeout')",message="trigger.startupTimeout goes with trigger.type StartupTimeout: set it for that type, and for no other"
// +kubebuilder:validation:XValidation:rule="has(self.machine) == (self.type == 'Machine')",message="trigger.machine goes with trigger.type Machine: set it for that type, and for no other"
type Trigger struct {
	// type is what the fence opened for: NodeCondition, LeaseStill, NodeMissing,
	// StartupTimeout or Machine, with the member of that name; or Problem or Request, of
	// which decision.askedBy says more.
	// +required
	Type TriggerType `json:"type"`
	// nodeCondition is the condition of the Node that held.
	// +optional
	NodeCondition *NodeConditionTrigger `json:"nodeCondition,omitempty"`
	// leaseStill is of a node whose Lease stood still.
	// +optional
	LeaseStill *LeaseStillTrigger `json:"leaseStill,omitempty"`
	// nodeMissing is of a node that was expected and had no Node object.
	// +optional
	NodeMissing *NodeMissingTrigger `json:"nodeMissing,omitempty"`
	// startupTimeout is of a node that was never Ready.
	// +optional
	StartupTimeout *StartupTimeoutTrigger `json:"startupTimeout,omitempty"`
	// machine is the Machine because of which it opened.
	// +optional
	Machine *MachineTrigger `json:"machine,omitempty"`
	// since is when that began: the condition's own transition, or when it was first seen
	// or asked for.
	// +required
	Since Time `json:"since"`
	// reason is why in words: the condition's own, or nodefence's.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Reason string `json:"reason,omitempty"`
}

// NodeConditionTrigger is a condition of a Node, of those that the policy names.
type NodeConditionTrigger struct {
	// type of the condition, such as Ready.
	// +kubebuilder:validation:MaxLength=316
	// +required
	Type string `json:"type"`
	// status that it had: True, False or Unknown.
	// +kubebuilder:validation:Enum=True;False;Unknown
	// +required
	Status string `json:"status"`
	// duration is how long it must have held (unhealthyConditions[].duration).
	// +required
	Duration metav1.Duration `json:"duration"`
}

// LeaseStillTrigger is a node's Lease that does not move.
type LeaseStillTrigger struct {
	// duration is how long it had to stand still (earlyProbe.leaseStillDuration).
	// +required
	Duration metav1.Duration `json:"duration"`
}

// NodeMissingTrigger is a Node object that is not there.
type NodeMissingTrigger struct {
	// duration is how long it had to be missing (missingNodes.duration or
	// machines.startupTimeout).
	// +required
	Duration metav1.Duration `json:"duration"`
}

// StartupTimeoutTrigger is a node that was never Ready.
type StartupTimeoutTrigger struct {
	// duration is how long it had for that (nodeStartupTimeout).
	// +required
	Duration metav1.Duration `json:"duration"`
}

// MachineTrigger is a Machine, and what is wrong with it.
type MachineTrigger struct {
	MachineRef `json:",inline"`
	// state is Failed, Remediate where somebody asked for it by annotation, or NoNode where the
	// Machine got no node in time.
	// +required
	State MachineState `json:"state"`
}

// Suspicion tells whether a still Lease is all that this fence opened for.
func (t Trigger) Suspicion() bool { return t.Type == TriggerLeaseStill }

// Startup tells whether this fence opened for a node that never became Ready.
func (t Trigger) Startup() bool { return t.Type == TriggerStartupTimeout }

// Missing tells whether this fence opened where there is no Node object.
func (t Trigger) Missing() bool { return t.Type == TriggerNodeMissing || t.OnlyMachine() }

// OnlyMachine tells whether this fence is of a Machine that has no node: there is
// nothing to be switched, marked or released, and the Machine is deleted.
func (t Trigger) OnlyMachine() bool { return t.Machine != nil && t.Machine.State == MachineStateNoNode }

// OfMachine tells whether this fence opened because of its node's Machine.
func (t Trigger) OfMachine() bool { return t.Machine != nil && t.Machine.State != MachineStateNoNode }

// Asked tells whether this fence opened because somebody asked for it, and for nothing
// that was wrong with the node by itself.
func (t Trigger) Asked() bool { return t.Type == TriggerRequest || t.Type == TriggerProblem }

// Spell is the trigger in the form of evidence.
func (t Trigger) Spell() Evidence {
	e := Evidence{Type: t.Type, Mark: t.Since}
	if c := t.NodeCondition; c != nil {
		e.Condition, e.Status = c.Type, c.Status
	}
	if m := t.Machine; m != nil {
		e.MachineState = m.State
	}
	return e
}

// Evidence is one thing that is wrong with the node now.
// +kubebuilder:validation:XValidation:rule="has(self.condition) == (self.type == 'NodeCondition') && has(self.status) == (self.type == 'NodeCondition')",message="evidence[].condition and evidence[].status go with evidence[].type NodeCondition: set both for that type, and for no other"
// +kubebuilder:validation:XValidation:rule="has(self.machineState) == (self.type == 'Machine')",message="evidence[].machineState goes with evidence[].type Machine: set it for that type, and for no other"
type Evidence struct {
	// type is what is wrong, in the words of decision.trigger.type: NodeCondition,
	// NodeMissing, StartupTimeout or Machine.
	// +required
	Type TriggerType `json:"type"`
	// condition is the type of the node condition, with type NodeCondition.
	// +kubebuilder:validation:MaxLength=316
	// +optional
	Condition string `json:"condition,omitempty"`
	// status is that condition's: True, False or Unknown.
	// +kubebuilder:validation:Enum=True;False;Unknown
	// +optional
	Status string `json:"status,omitempty"`
	// machineState is what is wrong with the Machine, with type Machine.
	// +optional
	MachineState MachineState `json:"machineState,omitempty"`
	// mark is the condition's own transition time. It tells one occurrence from the next, and is
	// compared only with the mark of another look (S30).
	// +required
	Mark Time `json:"mark"`
	// since is when nodefence first saw it, by the API server's clock.
	// +required
	Since Time `json:"since"`
}

// Same tells whether this is the same occurrence of the same thing, whenever it was first seen.
func (e Evidence) Same(o Evidence) bool {
	return e.Type == o.Type && e.Condition == o.Condition && e.Status == o.Status && e.MachineState == o.MachineState && e.Mark.Time.Equal(o.Mark.Time)
}
