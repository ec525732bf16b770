package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of all objects here.
var GroupVersion = schema.GroupVersion{Group: "nodefence.io", Version: "v1alpha1"}

// Names that nodefence leaves on objects of others.
const (
	// IsolationTaint is NoSchedule; its value is the UID of the NodeFence that placed it (S22).
	IsolationTaint = "nodefence.io/isolated"
	// OutOfServiceTaint is Kubernetes' own (KEP-2268).
	OutOfServiceTaint = "node.kubernetes.io/out-of-service"
	// OutOfServiceBy is an annotation of a node whose out-of-service taint nodefence placed. Its
	// value is the UID of the NodeFence: the taint's own value is the one that people set too (S22).
	OutOfServiceBy = "nodefence.io/out-of-service-by"
	// ScaleDownDisabled is cluster-autoscaler's annotation; a node carries it while
	// it is fenced, so that it is not deleted in the middle.
	ScaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	// DoNotDisrupt is Karpenter's; a node of Karpenter's carries it too.
	DoNotDisrupt = "karpenter.sh/do-not-disrupt"
	// Finalizer holds a NodeFence until what it placed is undone (S27).
	Finalizer = "nodefence.io/undo"
	// FieldManager is the name under which nodefence writes; a cordon is ours
	// while managedFields says that this manager owns spec.unschedulable.
	FieldManager = "nodefence"
	// LedgerName is the fixed name of the one FenceLedger (S14).
	LedgerName = "cluster"
	// ControlPlaneLabel marks nodes that are never fenced (S13).
	ControlPlaneLabel = "node-role.kubernetes.io/control-plane"
	// NotReadyReason is the reason of the Ready condition that cleanup sets to
	// Unknown once the machine is proven off.
	NotReadyReason = "NodefenceMachineOff"
)

// Schema is the version of the record's meaning. A NodeFence with a higher one
// was written by a newer nodefence and is left alone (S21).
const Schema = 1

// RequestValidity is how long after it was made a request for a fence may still
// be carried out, and the longest life of a token that is bound to one.
// Kubernetes issues none that is shorter than ten minutes.
const RequestValidity = 15 * time.Minute

// Time is a moment of the API server's clock, to the microsecond (S30).
type Time = metav1.MicroTime

// AddToScheme makes the kinds known to a scheme, for clients that watch them.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&NodeFence{}, &NodeFenceList{}, &FencePolicy{}, &FencePolicyList{}, &FenceLedger{}, &FenceLedgerList{},
		&FenceBudget{}, &FenceBudgetList{}, &FenceTarget{}, &FenceTargetList{},
		&NodeProblemPolicy{}, &NodeProblemPolicyList{},
		&FenceAct{}, &FenceActList{}, &FenceReport{}, &FenceReportList{},
		&FenceRequest{}, &FenceRequestList{}, &FenceRequestTemplate{}, &FenceRequestTemplateList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
