package v1alpha1

// MissingNodesRule names nodes that must be there.
//
// A missing Node object says nothing about its machine. The machine may be off, or it may still
// run all its pods, which Kubernetes deletes forty seconds after the Node without asking anybody.
// So a fence of a missing node switches the machine off, if the node's own enrolment says which
// one that is, and on again if the action is Reboot. It releases nothing: there is no Node
// against which the pods and volumes could be checked.
type MissingNodesRule struct {
	// nodeNames are the nodes that must be there, by name: 1 to 256.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +required
	NodeNames []string `json:"nodeNames,omitempty"`
	// duration is how long a Node object may be missing, with a look every half minute, from 1m
	// to 24h; 10m by default.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="missingNodes.duration must be between 1m and 24h"
	// +optional
	Duration *Duration `json:"duration,omitempty"`
}

// Names are the nodes that must be there; none without a rule.
func (r *MissingNodesRule) Names() []string {
	if r == nil {
		return nil
	}
	return r.NodeNames
}

// MachinesRule chooses Machines whose nodes must be there.
type MachinesRule struct {
	// selector chooses, by label, Machines of machine.openshift.io or cluster.x-k8s.io, whose
	// nodes are expected as missingNodes are. {} is every Machine, and must be written. A cluster
	// that has neither kind has no Machines. The node of a Machine in phase Failed, or with the
	// annotation cluster.x-k8s.io/remediate-machine, is unhealthy at once, whatever its
	// conditions say; a Machine that replaces one that was fenced for that waits ten minutes,
	// then twice as long each time, up to two hours. One with the annotation
	// cluster.x-k8s.io/skip-remediation or cluster.x-k8s.io/paused is left alone.
	// +required
	Selector *LabelSelector `json:"selector,omitempty"`
	// namespace is the namespace of these Machines, of at most 63 letters. Unless set, they may be
	// in any namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// startupTimeout is how old a Machine may grow without a Node, and how long the Node
	// object of one that had a Node may be missing, from 1m to 24h; 10m by default.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="machines.startupTimeout must be between 1m and 24h"
	// +optional
	StartupTimeout *Duration `json:"startupTimeout,omitempty"`
	// withoutNode says what happens to a Machine that has no node, once it is older than
	// startupTimeout, is in phase Failed, or is to be remediated. Report, the default, only
	// reports it. Delete deletes it, so that its owner makes another one. It deletes only a
	// Machine that is controlled by an owner and is not of the control plane, and only if no Node
	// has its name, its provider ID or one of its addresses, or names it. Limits, mode and back-off
	// hold as for a node with the Machine's name. It needs action PowerOff or Reboot.
	// +kubebuilder:default=Report
	// +optional
	WithoutNode *WithoutNode `json:"withoutNode,omitempty"`
}

// WithoutNode says what happens to a Machine that has no node.
// +kubebuilder:validation:Enum=Report;Delete
type WithoutNode string

// What happens to it.
const (
	ReportMachine WithoutNode = "Report"
	DeleteMachine WithoutNode = "Delete"
)

// Deletes tells whether Machines that have no node are deleted.
func (m *MachinesRule) Deletes() bool {
	return m != nil && m.WithoutNode != nil && *m.WithoutNode == DeleteMachine
}

// MissingNode is an expected node without a Node object.
type MissingNode struct {
	// nodeName is the name of the node; empty for a Machine that has no Node yet.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// machine is the Machine because of which the node is expected, if there is one.
	// +optional
	Machine *MachineRef `json:"machine,omitempty"`
	// since is when it was first seen to be missing, or when the Machine was created.
	// +required
	Since Time `json:"since"`
	// held says why the node is left alone however long it is missing; empty if it is not.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Held string `json:"held,omitempty"`
}
