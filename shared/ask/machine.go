package ask

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// ErrOfMachine says that the node of a FenceRequest is that of its Machine, and was not looked up yet.
var ErrOfMachine = errors.New("its node is that of its Machine, which was not looked up yet")

// machineVersions are the APIs whose MachineHealthCheck creates an object for a Machine.
var machineVersions = []string{"cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1", "machine.openshift.io/v1beta1"}

// OfMachine is the Machine that a FenceRequest is about, as a MachineHealthCheck names it that makes
// FenceRequests from a template: the Machine owns the object, and the object has its name. Nil if the
// object says itself which node it is about, or has no such owner.
//
// Such an object names no node, so the API server can't tell whether its author may ask for the fence of
// that one: the admission policy of infra/crd wants the right to ask for every node's.
func OfMachine(r *api.FenceRequest) *metav1.OwnerReference {
	if r.Spec.NodeName != "" || r.Annotations[api.NodeNameAnnotation] != "" {
		return nil
	}
	at := slices.IndexFunc(r.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == "Machine" && o.Name == r.Name && slices.Contains(machineVersions, o.APIVersion)
	})
	if at < 0 {
		return nil
	}
	return &r.OwnerReferences[at]
}

// nodeOfMachine is the node that its status names: that of its Machine when the object was first looked
// at, which stays, whatever becomes of the Machine. Only nodefence writes the status.
func nodeOfMachine(r *api.FenceRequest) (string, error) {
	if r.Status.NodeFence.Name == "" {
		return "", ErrOfMachine
	}
	return r.Status.NodeFence.Name, nil
}

// Replaced says that a Node is not the one that the Machine of a FenceRequest had when it was looked up;
// empty if it is, or if the object is about no Machine.
func Replaced(r *api.FenceRequest, uid types.UID) string {
	o, was := OfMachine(r), r.Status.NodeFence
	if o == nil || uid == was.NodeUID && uid != "" {
		return ""
	}
	return fmt.Sprintf("Machine %s/%s had node %s of UID %q, and another Node has that name by now", r.Namespace, o.Name, was.Name, was.NodeUID)
}

// HandsBack tells whether the Machine is now its owner's to replace: the fence of a FenceRequest that is
// about a Machine of Cluster API has succeeded, with a proof, and the policy leaves the machine off. A fence
// that failed hands nothing back: nobody knows whether that machine still writes.
func HandsBack(r *api.FenceRequest, status *api.FenceRequestStatus, f *api.NodeFence) bool {
	o := OfMachine(r)
	if o == nil || o.APIVersion == machineVersions[2] || status == nil || f == nil || r.DeletionTimestamp != nil {
		return false
	}
	if answer := status.NodeFence; answer.UID != f.UID || answer.FenceNumber != f.Status.FenceNumber {
		return false // the record is about another fence by now
	}
	proven := meta.IsStatusConditionTrue(status.Conditions, api.ConditionFenceActionSucceeded)
	return proven && meta.IsStatusConditionTrue(status.Conditions, api.ConditionSucceeded) && f.Status.Decision.Settings.Action == api.ActionOff
}

// nameBlockedMachines is what the message of a failed object of a Machine of Cluster API adds: for as long as the object
// exists, Cluster API's MachineHealthCheck creates no object for the Machines that come after this one. Empty for
// other objects, and for one that is being deleted.
func nameBlockedMachines(r *api.FenceRequest) string {
	o := OfMachine(r)
	if o == nil || o.APIVersion == machineVersions[2] || r.DeletionTimestamp != nil {
		return ""
	}
	return fmt.Sprintf("; while this FenceRequest exists and Machine %[1]s/%[2]s is unhealthy, Cluster API's MachineHealthCheck asks for no fence of its other Machines: "+
		"delete the FenceRequest once the cause is removed, and this Machine is asked for again too (kubectl -n %[1]s delete fencerequest %[2]s), "+
		"or have the Machine left out (kubectl -n %[1]s annotate machines.cluster.x-k8s.io %[2]s cluster.x-k8s.io/skip-remediation=)", r.Namespace, o.Name)
}
