package ask

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// generatedLength is how long a name can be that the API server makes of a generateName, and
// generatedBase what it takes of that.
const generatedLength, generatedBase = 63, 58

// Node is the node that a FenceRequest is about. The admission policy of infra/crd refuses the same
// objects; here they are refused in a cluster without that policy. The error says which names
// differ. No node follows from the names of an object that is about a Machine: until the Machine was
// looked up, the error is ErrOfMachine.
func Node(r *api.FenceRequest) (string, error) {
	if OfMachine(r) != nil {
		return nodeOfMachine(r)
	}
	given, noted := r.Spec.NodeName, r.Annotations[api.NodeNameAnnotation]
	node := r.Name
	switch {
	case given != "" && noted != "" && given != noted:
		return "", fmt.Errorf("spec.nodeName is %.80q, and the annotation %s is %.80q: they must name one node", given, api.NodeNameAnnotation, noted)
	case given != "":
		node = given
	case noted != "":
		node = noted
	}
	if len(validation.IsDNS1123Subdomain(node)) > 0 {
		return "", fmt.Errorf("%.80q is not a node's name", node)
	}
	if !namedAfter(r.Name, node) {
		return "", fmt.Errorf("the node is %s, and this object is named %s: name it like the node, or begin its name with %s-", node, r.Name, node)
	}
	return node, nil
}

// Subject is the node of a FenceRequest for the subject of an event: of an object whose names differ
// it is the object's own name.
func Subject(r *api.FenceRequest) string {
	if node, err := Node(r); err == nil {
		return node
	}
	return r.Name
}

// namedAfter: the name is the node's, or begins with it and '-'. Of a long name the API server
// takes only the beginning.
func namedAfter(name, node string) bool {
	base := node + "-"
	return name == node || strings.HasPrefix(name, base) ||
		len(name) == generatedLength && len(base) > generatedBase && strings.HasPrefix(name, base[:generatedBase])
}

// Source is the source by which a fence's record names a FenceRequest, beside its UID.
func Source(r *api.FenceRequest) string { return sourcePrefix + r.Namespace + "/" + r.Name }

const sourcePrefix = "/fencerequests/"

// User is who asks, in the record of the fence: the author whom the admission policy has
// authenticated, or the object with its owner.
func User(r *api.FenceRequest) string {
	if r.Spec.RequestedBy != "" {
		return r.Spec.RequestedBy
	}
	who := api.FenceRequestAsks + r.Namespace + "/" + r.Name
	if named := r.Annotations[api.OnBehalfOfAnnotation]; named != "" && len(named) <= longestOwner {
		return who + ", owner " + named
	}
	if o := owner(r); o != nil {
		who += ", owner " + o.Kind + "/" + o.Name
	}
	return who
}

// longestOwner is a kind and a name, at most.
const longestOwner = 63 + 1 + 253

// owner is the object's controller, or else its first owner.
func owner(r *api.FenceRequest) *metav1.OwnerReference {
	if c := metav1.GetControllerOf(r); c != nil {
		return c
	}
	if len(r.OwnerReferences) > 0 {
		return &r.OwnerReferences[0]
	}
	return nil
}

// Withdrawn says why nothing is asked for any more; empty if it is.
func Withdrawn(r *api.FenceRequest) string {
	who := "FenceRequest " + r.Namespace + "/" + r.Name
	if r.DeletionTimestamp != nil {
		return who + " was deleted"
	}
	if TimedOut(r) {
		return who + " was given up by NodeHealthCheck"
	}
	return ""
}

// TimedOut tells whether NodeHealthCheck gave it up.
func TimedOut(r *api.FenceRequest) bool {
	_, given := r.Annotations[api.TimedOutAnnotation]
	return given
}

// Held tells whether our finalizer is on it. Without it the object can be gone from one moment to
// the next, and nobody would notice the withdrawal.
func Held(r *api.FenceRequest) bool { return slices.Contains(r.Finalizers, api.RequestFinalizer) }

// Ended tells whether its last word is said: it is never taken back.
func Ended(r *api.FenceRequest) bool {
	return meta.IsStatusConditionFalse(r.Status.Conditions, api.ConditionProcessing)
}

// Asks tells whether whoever made it still has its fence in mind: it is not withdrawn, and has not failed. Once
// it has succeeded the node may still be on its way back, and its maker waits for that.
func Asks(r *api.FenceRequest) bool {
	return Withdrawn(r) == "" && !meta.IsStatusConditionFalse(r.Status.Conditions, api.ConditionSucceeded)
}

// Unfinished tells whether there is something left to do for it.
func Unfinished(r *api.FenceRequest) bool {
	return !Ended(r) || r.DeletionTimestamp != nil && Held(r)
}
