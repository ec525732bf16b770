package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FenceRequest asks for the fence of one node, whether the node is healthy or not. The node's
// FencePolicy says what is done, and all limits hold. Whoever creates one needs the verb fence on
// the NodeFence of that node. The node is spec.nodeName, or the annotation
// remediation.medik8s.io/node-name, or the object's own name; or that of the Machine with the object's
// name that owns it, for which the verb fence on all NodeFences is needed. To delete the object before power was
// cut withdraws what it asks for. Only the namespaces of NODEFENCE_REQUEST_NAMESPACES count: in
// any other nothing is done, and nothing is written to the object.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=freq,categories=fencing
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=NODE,type=string,JSONPath=`.status.nodeFence.name`
// +kubebuilder:printcolumn:name=PROCESSING,type=string,JSONPath=`.status.conditions[?(@.type=="Processing")].status`
// +kubebuilder:printcolumn:name=SUCCEEDED,type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name=REASON,type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name=AGE,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=MESSAGE,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Processing")].message`
type FenceRequest struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is asked for. It does not change: for something else create another object.
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec does not change: create another FenceRequest"
	// +optional
	Spec FenceRequestSpec `json:"spec,omitzero"`
	// status is what became of it.
	// +optional
	// +structType=atomic
	Status FenceRequestStatus `json:"status,omitzero"`
}

// FenceRequestSpec is what is asked for.
type FenceRequestSpec struct {
	// nodeName is the name of the node, of at most 253 letters. The object's own name must be the
	// node's, or begin with it and '-'. Unless set, the node is that of the annotation
	// remediation.medik8s.io/node-name, or has the object's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// reason says why, for those who read it later: at most 256 letters.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
	// drain is IfReady or Skip. IfReady, the default, drains a node that is Ready before its machine
	// is cut, as its FencePolicy says (spec.drain). Skip cuts the machine without that.
	// +optional
	Drain DrainWish `json:"drain,omitempty"`
	// requestedBy is your own name, as the API server knows you (kubectl auth whoami): at most 256
	// letters. Unless set, the record of the fence names this object and its owner.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
}

// FenceRequestStatus is what became of a request.
type FenceRequestStatus struct {
	// observedGeneration is the metadata.generation that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// nodeFence is the fence that answers this request.
	// +optional
	NodeFence NodeFenceReference `json:"nodeFence,omitzero"`
	// conditions are Processing, FenceActionSucceeded and Succeeded, and
	// PermanentNodeDeletionExpected if the fence has the node's Machine deleted. Once Processing is
	// False, none of them changes any more.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeFenceReference names one fence of one node.
type NodeFenceReference struct {
	// name is the name of the NodeFence, and of the node.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
	// uid is the UID of the NodeFence. It is missing until a fence answers.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// fenceNumber is the number of the fence in that NodeFence.
	// +kubebuilder:validation:Minimum=1
	// +optional
	FenceNumber int64 `json:"fenceNumber,omitempty"`
	// nodeUID is the UID of the Node of a request that is about a Machine, as it was when the Machine
	// was first looked at. Another Node of that name is not fenced for it.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +optional
	NodeUID types.UID `json:"nodeUID,omitempty"`
}

// The conditions of a FenceRequest, besides Succeeded. NodeHealthCheck reads the same.
const (
	// ConditionProcessing: its fence is under way. False is final.
	ConditionProcessing = "Processing"
	// ConditionFenceActionSucceeded: there is a proof on which work may be released.
	ConditionFenceActionSucceeded = "FenceActionSucceeded"
	// ConditionNodeDeletionExpected: its fence deletes the Machine of the node, so that the Node goes
	// for good, and its owner makes another one of another name. NodeHealthCheck then keeps the
	// object after the Node has gone, until Succeeded is True.
	ConditionNodeDeletionExpected = "PermanentNodeDeletionExpected"
)

const (
	// RequestFinalizer holds a FenceRequest that is deleted until its fence can't begin any more.
	RequestFinalizer = "nodefence.io/fence-request"
	// NodeNameAnnotation names the node of a FenceRequest that NodeHealthCheck created.
	NodeNameAnnotation = "remediation.medik8s.io/node-name"
	// OnBehalfOfAnnotation is kind/name of whoever had a FenceRequest made without owning it: the
	// NodeHealthCheck behind an object that nodefence answers. It counts as an owner does.
	OnBehalfOfAnnotation = "nodefence.io/on-behalf-of"
	// TimedOutAnnotation is how NodeHealthCheck withdraws a FenceRequest that took too long.
	TimedOutAnnotation = "remediation.medik8s.io/nhc-timed-out"
	// WithdrawnAnnotation is on the NodeFence of a node, and holds the UIDs, separated by commas, of
	// FenceRequests that were withdrawn before anything was done for them: of those by which the record has a
	// fence, which was aborted then, and of the last one. To write it makes the gate read that object again before
	// it opens or joins a fence for it.
	WithdrawnAnnotation = "nodefence.io/withdrawn-request"
	// WithdrawnAskersAnnotation is on the NodeFence of a node, and holds the UIDs, separated by commas, of
	// FenceRequests that were withdrawn while the fence that they ask for goes on, because others ask for it
	// too, or because it has cut power or released work. What they say of the drain counts no more, and no
	// further Off is sent because of them.
	WithdrawnAskersAnnotation = "nodefence.io/withdrawn-askers"
)

// FenceRequestList is a list of FenceRequest.
// +kubebuilder:object:root=true
type FenceRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FenceRequest `json:"items"`
}

// FenceRequestTemplate is what NodeHealthCheck makes FenceRequests of, in the template's own
// namespace. Nothing is done about the template itself.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=freqtemplate,categories=fencing
// +kubebuilder:printcolumn:name=AGE,type=date,JSONPath=`.metadata.creationTimestamp`
type FenceRequestTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what a person decides.
	// +kubebuilder:default={}
	// +optional
	Spec FenceRequestTemplateSpec `json:"spec,omitzero"`
}

// FenceRequestTemplateSpec is what a person decides.
type FenceRequestTemplateSpec struct {
	// template is the FenceRequest that is made of it.
	// +kubebuilder:default={}
	// +optional
	Template FenceRequestTemplateResource `json:"template,omitzero"`
}

// FenceRequestTemplateResource is a FenceRequest to be.
type FenceRequestTemplateResource struct {
	// spec is that of each FenceRequest. It has no nodeName and no requestedBy: NodeHealthCheck names
	// the node in an annotation, and creates the object in its own name.
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="!has(self.nodeName) && !has(self.requestedBy)",message="leave nodeName and requestedBy out of a template: whoever makes FenceRequests of it names the node of each, and asks in their own name"
	// +optional
	Spec FenceRequestSpec `json:"spec,omitzero"`
}

// FenceRequestTemplateList is a list of FenceRequestTemplate.
// +kubebuilder:object:root=true
type FenceRequestTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FenceRequestTemplate `json:"items"`
}
